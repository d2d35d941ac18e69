import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

/** A range of addresses: its first address and how many leading bits are fixed. */
export type AddressRange = [network: IPv4 | IPv6, bits: number]

const v4Bits = 32
const mappedBits = 96
const spelling = /^([0-9A-Fa-f.:]{2,45})(?:\/(\d{1,3}))?$/

/** An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is that IPv4 address. */
function unmapped([network, bits]: AddressRange): AddressRange | undefined {
  if (network instanceof ipaddr.IPv4 || !network.isIPv4MappedAddress()) return [network, bits]
  return bits < mappedBits ? undefined : [network.toIPv4Address(), bits - mappedBits]
}

const written = ([network, bits]: AddressRange) =>
  `${network instanceof ipaddr.IPv4 ? network.toString() : network.toRFC5952String()}/${bits}`

/** `network` with all bits behind the first `bits` cleared. */
function firstOf([network, bits]: AddressRange): string {
  const kind = network instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6
  return kind.networkAddressFromCIDR(`${network.toString()}/${bits}`).toString()
}

/**
 * A range from a CIDR such as `192.0.2.0/24` or `2001:db8::/32`, or one address. An error in words for what is none: odd spellings that
 * some programs take (`010.1`, zones), and an address inside a range where the range itself is meant.
 */
export function readRange(text: string): AddressRange | string {
  const [, address = '', length] = spelling.exec(text) ?? []
  const family = isIP(address)
  const most = family === 4 ? v4Bits : 128
  const bits = length === undefined ? most : Number(length)
  if (family === 0 || bits > most) return 'must be a range of addresses such as 192.0.2.0/24 or 2001:db8::/32'
  const range = unmapped([ipaddr.parse(address), bits])
  if (!range) return 'must not be a range that holds all of IPv4 inside IPv6: give it as IPv4'
  const first = firstOf(range)
  if (first !== range[0].toString())
    return `must begin with the first address of the range, ${first}/${range[1]}`
  return range
}

/** The one way a range is written down. @throws for a text that {@link readRange} refuses */
export const rangeText = (text: string): string => written(requireRange(text))

/** A range that was checked before. */
export function requireRange(text: string): AddressRange {
  const range = readRange(text)
  if (typeof range === 'string') throw new Error(`${text}: ${range}`)
  return range
}

const sameKind = (a: IPv4 | IPv6, b: IPv4 | IPv6) => a.kind() === b.kind()

/** @param address as {@link clientAddress} gives it; what is no address is in no range */
export function isWithin(address: string, ranges: readonly AddressRange[]): boolean {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.process(address)
  return ranges.some(([network, bits]) => sameKind(parsed, network) && parsed.match([network, bits]))
}

/** Whether every address of `inner` is one of `outer`. */
export const isRangeWithin = ([network, bits]: AddressRange, outer: readonly AddressRange[]): boolean =>
  outer.some(([wide, fixed]) => sameKind(network, wide) && bits >= fixed && network.match([wide, fixed]))
