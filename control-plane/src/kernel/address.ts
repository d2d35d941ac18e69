import { isIP, isIPv4, isIPv6 } from 'node:net'

/** The eight groups of an IPv6 address, without zone. */
function groups(address: string): number[] {
  const [plain = ''] = address.split('%')
  const [head = '', tail] = plain.split('::')
  const read = (part: string) =>
    part
      .split(':')
      .filter(Boolean)
      .flatMap((group) => {
        if (!group.includes('.')) return [Number.parseInt(group, 16)]
        const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
        return [a * 256 + b, c * 256 + d]
      })
  const left = read(head)
  const right = tail === undefined ? [] : read(tail)
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

/** Without a zone (RFC 4007 §11): it means something on this host only, and Postgres takes none. */
const withoutZone = (address: string) => address.replace(/%.*$/, '')

/**
 * Where a request came from, as Postgres can keep it. A proxy that is trusted may still hand on what a client made up: what is
 * no address is nobody's, and the peer's own counts.
 */
export const clientAddress = (claimed: string | undefined, peer: string | undefined): string =>
  knownAddress(claimed) ?? withoutZone(peer ?? '')

/** As {@link clientAddress}, for who is let in by it: what a trusted proxy does not name is not at the proxy's own address. */
export function knownAddress(claimed: string | undefined): string | undefined {
  const address = withoutZone(claimed ?? '')
  return isIP(address) ? address : undefined
}

/**
 * Whom an address counts as: one subscriber has a whole /64 of IPv6, so its lower half says nothing (RFC 6177). An IPv4 address
 * inside IPv6 is that IPv4 address.
 */
export function subscriber(address: string): string {
  if (isIPv4(address) || !isIPv6(address)) return address
  const all = groups(address)
  const [g6 = 0, g7 = 0] = all.slice(6)
  const mapped = all.slice(0, 5).every((group) => group === 0) && all[5] === 0xffff
  if (mapped) return [g6 >> 8, g6 & 255, g7 >> 8, g7 & 255].join('.')
  return `${all
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}
