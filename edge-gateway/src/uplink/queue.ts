import type { Limits } from '../ops/limits.ts'
import type { Taken } from '../transport/link.ts'
import type { Item } from './items.ts'

type Latest = NonNullable<Item['latest']>

/** Empty places that are not worth tidying up. */
const slack = 1024

/**
 * What is to go up one shard, in the order it came. Of a device's heartbeats, connects and disconnects only the last of each is
 * kept, at its own place, so the queue is bounded by devices and not by time. The rest is bounded by its owner.
 */
export class Queue {
  #items: (Item | undefined)[] = []
  #latest: Record<Latest, Map<string, number>> = none()
  /** items in it */
  size = 0
  bytes = 0
  /** heartbeats that nobody waits for: they may wait for company */
  patient = 0
  /** of those that are not replaced by later ones */
  heldItems = 0
  heldBytes = 0

  push(entry: Item): void {
    const { latest, item } = entry
    if (latest) {
      const places = this.#latest[latest]
      const deviceId = item.deviceId ?? ''
      const before = places.get(deviceId)
      if (before !== undefined) {
        addConnects(entry, this.#items[before])
        entry.taken = [...this.#clear(before), ...entry.taken]
      }
      places.set(deviceId, this.#items.length)
    }
    this.#items.push(entry)
    this.#count(entry, 1)
    // Places left by replaced items, while nothing is taken.
    if (this.#items.length > 2 * this.size + slack) this.#rebuild(this.#items)
  }

  /** When the first of it came; undefined when empty. */
  get oldestMs(): number | undefined {
    return this.#items.find(Boolean)?.item.receivedAtMs ?? undefined
  }

  /** Takes a batch off the front: at least one item, at most what fits. */
  take({ maxBatchItems, maxBatchBytes }: Limits): Item[] {
    const batch: Item[] = []
    let bytes = 0
    let i = 0
    for (; i < this.#items.length && batch.length < maxBatchItems; i++) {
      const entry = this.#items[i]
      if (!entry) continue
      if (batch.length > 0 && bytes + entry.size > maxBatchBytes) break
      bytes += entry.size
      batch.push(entry)
    }
    this.#rebuild(this.#items.slice(i))
    return batch
  }

  /** Puts a batch back that was not accepted; what came since is newer. */
  putBack(batch: readonly Item[]): void {
    this.#rebuild([...batch, ...this.#items])
  }

  #rebuild(entries: readonly (Item | undefined)[]): void {
    this.#items = []
    this.#latest = none()
    this.size = this.bytes = this.patient = this.heldItems = this.heldBytes = 0
    for (const entry of entries) if (entry) this.push(entry)
  }

  /** Answers with who waits for what stood there. */
  #clear(place: number): readonly Taken[] {
    const entry = this.#items[place]
    if (!entry) return []
    this.#items[place] = undefined
    this.#count(entry, -1)
    return entry.taken
  }

  #count(entry: Item, sign: 1 | -1): void {
    this.size += sign
    this.bytes += sign * entry.size
    if (isPatient(entry)) this.patient += sign
    if (entry.latest) return
    this.heldItems += sign
    this.heldBytes += sign * entry.size
  }
}

const isPatient = ({ latest, taken }: Item): boolean =>
  (latest === 'heartbeat' || latest === 'watchdog') && taken.length === 0

/** A connect stands for those that it takes the place of. One that was only completed is no other. */
function addConnects({ latest, item }: Item, before: Item | undefined): void {
  const earlier = before?.item
  if (latest !== 'connected' || !item.session || !earlier?.session) return
  const own = item.epoch === earlier.epoch ? 0 : item.session.connects || 1
  item.session = { ...item.session, connects: (earlier.session.connects || 1) + own }
}

const none = (): Record<Latest, Map<string, number>> => ({
  heartbeat: new Map(),
  watchdog: new Map(),
  connected: new Map(),
  disconnected: new Map(),
})
