import { BlockList, isIP } from 'node:net'

const v4InV6 = '00000000000000000000ffff'

/** Network byte order to text: 4 bytes IPv4, 16 bytes IPv6; an IPv4 address inside IPv6 is written as IPv4 (RFC 4291 §2.5.5.2). */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const hex = Buffer.from(bytes).toString('hex')
  if (hex.startsWith(v4InV6)) return bytes.subarray(12).join('.')
  return (hex.match(/.{4}/g) ?? []).map((group) => Number.parseInt(group, 16).toString(16)).join(':')
}

/** Tells which peers may say on whose behalf they call (`TRUSTED_PROXIES`). */
export function trustOf(cidrs: readonly string[]): (address: string) => boolean {
  // Asked on each connection, and a list that is empty still makes objects for the answer.
  if (cidrs.length === 0) return () => false
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [network = '', bits] = cidr.split('/')
    const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(network, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

interface Sources {
  peer: string
  /** from a PROXY v2 header; empty without one */
  proxied: string
  /** X-Forwarded-For; empty without one */
  forwarded: string
}

/**
 * The client's address. What a peer claims counts only from trusted proxies; of a forwarded chain the last address that is not
 * a trusted proxy itself, since everything left of it was written by the client. So is what stands left of something that is no
 * address: who wrote that down did not know who called, and the nearest proxy that is known counts.
 */
export function clientAddress(
  { peer, proxied, forwarded }: Sources,
  trusted: (address: string) => boolean,
): string {
  if (!trusted(peer)) return peer
  const chain = [...forwarded.split(','), proxied].map((part) => part.trim()).filter(Boolean)
  let nearest = peer
  for (const address of chain.toReversed()) {
    if (isIP(address) === 0) break
    nearest = address
    if (!trusted(address)) break
  }
  return nearest
}
