import { addressText } from '../address.ts'

/** PROXY protocol v2 §2.2. */
const signature = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a])
const headBytes = 16
const version2 = 0x20
const commands = { local: 0, proxy: 1 } as const
/** address bytes by family and protocol, for TCP over IPv4 and IPv6 */
const addressBytes: Partial<Record<number, number>> = { 0x11: 4, 0x21: 16 }
/** Addresses and what proxies add to them; nobody needs more. */
const maxBytes = 4_096

export interface Proxied {
  /** of the client; undefined where the proxy speaks for itself, or knows none */
  address: string | undefined
  /** length of the header; 0: there is none */
  bytes: number
}

/** What a connection's first bytes say about whom it is for; undefined while too few have come to tell, `broken` for no header at all. */
export function readProxied(bytes: Buffer): Proxied | undefined | 'broken' {
  const start = Math.min(bytes.length, signature.length)
  if (!bytes.subarray(0, start).equals(signature.subarray(0, start))) return { address: undefined, bytes: 0 }
  if (bytes.length < headBytes) return undefined
  const [command = 0, family = 0] = bytes.subarray(signature.length)
  const total = headBytes + bytes.readUInt16BE(14)
  if ((command & 0xf0) !== version2 || (command & 0x0f) > commands.proxy || total > maxBytes) return 'broken'
  if (bytes.length < total) return undefined
  const length = addressBytes[family]
  if ((command & 0x0f) === commands.local || length === undefined) return { address: undefined, bytes: total }
  if (total < headBytes + 2 * length + 4) return 'broken'
  return { address: addressText(bytes.subarray(headBytes, headBytes + length)), bytes: total }
}
