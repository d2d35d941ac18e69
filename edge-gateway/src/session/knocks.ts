import { isIPv6 } from 'node:net'
import type { CloseReason } from '@svc/proto'
import type { Limits } from '../ops/limits.ts'

/** The machine itself: its operator, or a proxy in front of which nobody said that it is one, and then it is everybody. */
const ownAddresses: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '0:0:0:0:0:0:0:1'])

/** Ends of a newcomer that say nothing against its address: we were busy, or went away. */
const ours: ReadonlySet<CloseReason> = new Set([
  'ADMISSION_RATE',
  'UNAVAILABLE',
  'DRAINING',
  'SUPERSEDED',
  'INTERNAL_ERROR',
])

interface Bucket {
  left: number
  at: number
}

/**
 * How many connections of one address may be without an identity: so many at once, and a few more per second. One is
 * taken when a connection comes and given back when it turns out to be a device's, so an office of a thousand devices behind one
 * address pays for nothing, and only who never shows an identity is slowed down. Of IPv6 a whole /64 is one address: anybody has as many.
 */
export class Knocks {
  readonly #limits: Limits
  readonly #nowMs: () => number
  /** by address, in the order in which they first came; one that is full again is not kept */
  readonly #buckets = new Map<string, Bucket>()

  constructor(limits: Limits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits
    this.#nowMs = nowMs
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /** One more; false: its address has too many. @param address of the client, behind trusted proxies too */
  take(address: string): boolean {
    const key = keyOf(address)
    if (key === undefined) return true
    const bucket = this.#refilled(key) ?? this.#open(key)
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }

  /** It was a device, or it is not to blame for how it ended. */
  giveBack(address: string): void {
    const key = keyOf(address)
    const bucket = key === undefined ? undefined : this.#refilled(key)
    if (!key || !bucket) return
    bucket.left++
    if (bucket.left >= this.#limits.knocksPerAddress) this.#buckets.delete(key)
  }

  /** A newcomer ended before it was anybody. */
  ended(address: string, reason: CloseReason): void {
    if (ours.has(reason)) this.giveBack(address)
  }

  #refilled(key: string): Bucket | undefined {
    const bucket = this.#buckets.get(key)
    if (!bucket) return undefined
    const { knocksPerAddress, knocksPerAddressPerSecond } = this.#limits
    const now = this.#nowMs()
    bucket.left = Math.min(
      knocksPerAddress,
      bucket.left + ((now - bucket.at) / 1_000) * knocksPerAddressPerSecond,
    )
    bucket.at = now
    return bucket
  }

  /** The one that came first is forgotten where there are too many: memory is bounded, whoever has how many addresses. */
  #open(key: string): Bucket {
    const [oldest] = this.#buckets.size >= this.#limits.maxKnockingAddresses ? this.#buckets.keys() : []
    if (oldest !== undefined) this.#buckets.delete(oldest)
    const bucket = { left: this.#limits.knocksPerAddress, at: this.#nowMs() }
    this.#buckets.set(key, bucket)
    return bucket
  }
}

/** Groups of an IPv6 address that say which network it is in. */
const networkGroups = 4

/** What counts as one address; undefined: nobody counts it. */
function keyOf(address: string): string | undefined {
  if (address === '' || ownAddresses.has(address)) return undefined
  if (!isIPv6(address)) return address
  const [before = '', after] = address.split('::')
  const head = before.split(':').filter(Boolean)
  const tail = after === undefined ? [] : after.split(':').filter(Boolean)
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length
  const groups = [...head, ...Array<string>(Math.max(0, zeros)).fill('0'), ...tail]
  return groups
    .slice(0, networkGroups)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
