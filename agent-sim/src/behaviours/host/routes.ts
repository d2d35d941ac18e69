import { networkInterfaces } from 'node:os'
import { textOf } from './proc.ts'

/** A default route: the interface that carries it, and through whom; empty where there is nobody in between (a tunnel). */
export interface DefaultRoute {
  device: string
  gateway: string
  metric: number
}

/** route(8): the route is up; it refuses what it matches. */
const [isUp, isReject] = [0x1, 0x200]

const best = (routes: readonly DefaultRoute[]): DefaultRoute | undefined =>
  routes.toSorted((a, b) => a.metric - b.metric)[0]

/** 32 bits as /proc/net/route writes them: in the machine's own order, which is little-endian wherever Node runs. */
const ipv4 = (hex: string): string => [...Buffer.from(hex, 'hex')].toReversed().join('.')

const zeros = /^0+$/

/** /proc/net/route (proc(5)): `Iface Destination Gateway Flags RefCnt Use Metric Mask …`; of several the lowest metric counts. */
export function defaultRoute4(text: string): DefaultRoute | undefined {
  const routes = text.split('\n').flatMap((line) => {
    const [device = '', to = '', via = '', flags = '', , , metric = '', mask = ''] = line.trim().split(/\s+/)
    const bits = Number.parseInt(flags, 16)
    if (!zeros.test(to) || !zeros.test(mask) || !(bits & isUp) || bits & isReject) return []
    return [{ device, gateway: zeros.test(via) ? '' : ipv4(via), metric: Number(metric) }]
  })
  return best(routes)
}

/** The shortest form (RFC 5952 §4): no leading zeros, the longest run of zero groups as `::`. */
export function ipv6(hex: string): string {
  const groups = (hex.match(/.{4}/g) ?? []).map((group) => Number.parseInt(group, 16).toString(16))
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1)
}

/** /proc/net/ipv6_route: destination, its length, source, its length, next hop, metric, references, uses, flags, device. */
export function defaultRoute6(text: string): DefaultRoute | undefined {
  const routes = text.split('\n').flatMap((line) => {
    const [to = '', length, , , via = '', metric = '', , , flags = '', device = ''] = line.trim().split(/\s+/)
    const bits = Number.parseInt(flags, 16)
    if (!zeros.test(to) || length !== '00' || !(bits & isUp) || bits & isReject) return []
    return [{ device, gateway: zeros.test(via) ? '' : ipv6(via), metric: Number.parseInt(metric, 16) }]
  })
  return best(routes)
}

/** The default route of this host: IPv4's, or IPv6's where there is no other. */
export async function defaultRoute(): Promise<DefaultRoute | undefined> {
  return (
    defaultRoute4((await textOf('/proc/net/route')) ?? '') ??
    defaultRoute6((await textOf('/proc/net/ipv6_route')) ?? '')
  )
}

/** By interface: addresses with the length of their prefix, IPv4 first. Of interfaces that are up and have a carrier. */
export function addresses(): Map<string, string[]> {
  const rank = (cidr: string) => (cidr.includes(':') ? `6${cidr}` : `4${cidr}`)
  return new Map(
    Object.entries(networkInterfaces()).map(([name, all = []]) => [
      name,
      all.flatMap(({ cidr }) => cidr ?? []).toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)),
    ]),
  )
}
