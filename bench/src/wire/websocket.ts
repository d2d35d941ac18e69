/** What a client sends and gets on a WebSocket (RFC 6455), by hand: a library's own work would be measured along with the server's. */

const opcodes = { binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const
const [final, masked] = [0x80, 0x80]

/**
 * One masked frame. The mask is zero, which a server has to undo like any other (§5.3): the bytes can be made once and sent by
 * everybody.
 */
export function clientFrame(payload: Uint8Array, opcode: number = opcodes.binary): Buffer {
  const [first = 0, ...more] = sizeOf(payload.length)
  return Buffer.concat([Buffer.from([final | opcode, masked | first, ...more, 0, 0, 0, 0]), payload])
}

/** A payload's length as it is written (§5.2). */
const sizeOf = (length: number): number[] => {
  if (length < 126) return [length]
  if (length < 0x1_00_00) return [126, length >> 8, length & 0xff]
  return [127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (length >>> shift) & 0xff)]
}

export const pong = (payload: Uint8Array): Buffer => clientFrame(payload, opcodes.pong)

export interface Upgrade {
  path: string
  /** the one that is offered, where there is one */
  protocol?: string | undefined
  /** a device's token */
  bearer?: string | undefined
}

/** The request that makes a connection a WebSocket. The key is nobody's secret, and may be the same for all (§1.3). */
export const upgradeRequest = ({ path, protocol, bearer }: Upgrade): Buffer =>
  Buffer.from(
    [
      `GET ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      ...(bearer === undefined ? [] : [`Authorization: Bearer ${bearer}`]),
      '',
      '',
    ].join('\r\n'),
  )

/** Where an HTTP answer's head ends, and its status; undefined while it has not come whole. */
export function readUpgrade(bytes: Buffer): { status: number; end: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  return end < 0 ? undefined : { status: Number(bytes.toString('latin1', 9, 12)), end: end + 4 }
}

export interface ServerFrame {
  kind: 'binary' | 'ping' | 'close' | 'other'
  payload: Buffer
  /** where the next one begins */
  end: number
}

/** The frame that begins at `at`; undefined while it has not come whole. Servers do not mask. */
export function readServerFrame(bytes: Buffer, at: number): ServerFrame | undefined {
  const [head, size] = [bytes[at], bytes[at + 1]]
  if (head === undefined || size === undefined) return undefined
  let start = at + 2
  let length = size
  if (size === 126 || size === 127) {
    start += size === 126 ? 2 : 8
    if (bytes.length < start) return undefined
    length = size === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
  }
  const end = start + length
  if (bytes.length < end) return undefined
  const kind = kinds.get(head & 0xf) ?? 'other'
  return { kind, payload: bytes.subarray(start, end), end }
}

const kinds = new Map<number, ServerFrame['kind']>([
  [opcodes.binary, 'binary'],
  [opcodes.ping, 'ping'],
  [opcodes.close, 'close'],
])
