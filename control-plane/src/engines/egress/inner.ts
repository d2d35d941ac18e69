import { networkInterfaces } from 'node:os'
import { type AddressRange, isWithin, requireRange } from '../../kernel/address-ranges.ts'

/** What an address that must not be asked is, in a word that a metric may carry. */
export type InnerKind =
  | 'loopback'
  | 'private'
  | 'link_local'
  | 'shared'
  | 'translated'
  | 'multicast'
  | 'reserved'
  | 'documentation'
  | 'own'
  | 'denied'

/** IANA's special-purpose registries, and what clouds keep for themselves. */
const inner: Readonly<Record<Exclude<InnerKind, 'own' | 'denied'>, readonly string[]>> = {
  // 0.0.0.0 and :: reach this machine on Linux
  loopback: ['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  // metadata services of clouds: 169.254.169.254, 169.254.170.2; Azure's is at an address that looks public
  link_local: ['169.254.0.0/16', 'fe80::/10', '168.63.129.16/32'],
  // RFC 6598: between providers and subscribers; Alibaba's metadata is at 100.100.100.200
  shared: ['100.64.0.0/10'],
  // Forms of IPv6 that a gateway turns into any IPv4 address: compatible, RFC 6145, NAT64, 6to4 and its relays, Teredo
  translated: [
    '::/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '2002::/16',
    '192.88.99.0/24',
    '2001::/32',
  ],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  reserved: [
    '192.0.0.0/24',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.175.48.0/24',
    '198.18.0.0/15',
    '240.0.0.0/4',
    '100::/64',
    '2001::/23',
    '2620:4f:8000::/48',
  ],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
}

const kinds = Object.entries(inner).map(
  ([kind, texts]) => [kind as InnerKind, texts.map(requireRange)] as const,
)
/** RFC 4291 §2.4: all that has been given out to the Internet; what is outside is not there, or not for us. */
const given: readonly AddressRange[] = ['0.0.0.0/0', '2000::/3'].map(requireRange)

/** What keeps this address, IPv4 or IPv6, from being one of the Internet; undefined: nothing does. */
export function innerKind(address: string): InnerKind | undefined {
  const kind = kinds.find(([, ranges]) => isWithin(address, ranges))?.[0]
  return kind ?? (isWithin(address, given) ? undefined : 'reserved')
}

/** Addresses of this machine, as its interfaces are now. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))

/** Whether the address, IPv4 or IPv6, is one of these. A zone says which interface, not which address. */
export const isAmong = (address: string, own: readonly string[]): boolean =>
  isWithin(
    address,
    own.map((mine) => requireRange(mine.replace(/%.*$/, ''))),
  )
