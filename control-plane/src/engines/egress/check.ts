import { isIPv6, type BlockList } from 'node:net'
import ipaddr from 'ipaddr.js'
import { EgressError } from '../../adapters/egress.ts'
import { type InnerKind, innerKind, isAmong } from './inner.ts'
import type { Guard } from './options.ts'

/** Where a name leads, and that each of it may be asked. */
export interface Checked {
  /** canonical; the only ones that are connected to */
  addresses: readonly string[]
  /** one is of the inside, which the operator allowed */
  inner: boolean
}

/** What is allowed and forbidden beyond the ranges that are of the inside. */
export interface Walls {
  /** of the inside, and may be asked all the same */
  allow: BlockList
  /** must not be asked, whatever else says so */
  deny: BlockList
  /** names of what belongs to this server: itself, its database, Redis */
  ownNames: readonly string[]
  /** addresses of this machine, as they are now */
  ownAddresses: () => readonly string[]
  without: ReadonlySet<Guard>
}

/** An address that was not asked, for the operator's log. */
export interface Denied {
  /** whose call it was */
  key: string
  host: string
  kind: InnerKind
  /** absent: it was the name that was refused */
  address?: string
}

/** In hexadecimal: of `::10.0.0.1`, as name servers' answers are written down, the library below would make an IPv4 address. */
const written = (address: string) =>
  isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address
/** An IPv4 address inside IPv6 (`::ffff:10.0.0.1`) is that IPv4 address. */
const canonical = (address: string) => ipaddr.process(written(address)).toString()
const holds = (list: BlockList, address: string) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

type Standing = InnerKind | 'public' | 'allowed'

function standing(address: string, { allow, deny, ownAddresses }: Walls): Standing {
  if (holds(deny, address)) return 'denied'
  if (holds(allow, address)) return 'allowed'
  return innerKind(address) ?? (isAmong(address, ownAddresses()) ? 'own' : 'public')
}

const refused = () =>
  new EgressError('ADDRESS_DENIED', 'the address leads to where requests of this kind must not go')

/**
 * Looks at *every* address of a host: one that is of the inside spoils all, since nobody knows which one a later step would take.
 *
 * @param denied is told of what is refused, and why
 * @throws EgressError ADDRESS_DENIED, the same whatever is there
 */
export function check(
  host: string,
  found: readonly string[],
  walls: Walls,
  denied: (what: Omit<Denied, 'key'>) => void,
): Checked {
  const addresses = found.map(canonical)
  const looked = walls.without.has('every_answer') ? addresses.slice(0, 1) : addresses
  const standings = looked.map((address) => ({ address, is: standing(address, walls) }))
  const bad = standings.find(({ is }) => is !== 'public' && is !== 'allowed')
  if (bad && !walls.without.has('ranges')) {
    denied({ host, kind: bad.is as InnerKind, address: bad.address })
    throw refused()
  }
  const inner = standings.some(({ is }) => is !== 'public')
  if (walls.ownNames.includes(host.toLowerCase()) && !walls.without.has('own_names')) {
    denied({ host, kind: 'own' })
    throw refused()
  }
  return { addresses, inner }
}
