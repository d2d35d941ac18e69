import { shardCount, shardOf, type Unsubscribe } from '@svc/proto/bus'
import { count } from '../ops/counters.ts'
import { dropOf, itemOf, type UpBody, urgencyOf } from './items.ts'
import { Lane, type LaneDeps } from './lane.ts'
import type { Taken } from '../transport/link.ts'

/**
 * Everything a gateway says upwards: batched per shard, in order per device, at least once. While the carrier is
 * away or full it is held: the last heartbeat, connect and disconnect of each device, and of the rest what fits; an item beyond
 * that is not accepted, counted, and comes again from the agent that keeps it.
 */
export class Uplink {
  readonly #deps: LaneDeps
  readonly #lanes: readonly Lane[]
  readonly #timer: NodeJS.Timeout
  readonly #unwatch: Unsubscribe
  readonly #urgent = new Set<Lane>()
  #soon: NodeJS.Timeout | undefined
  #now: NodeJS.Immediate | undefined

  constructor(deps: LaneDeps) {
    this.#deps = deps
    this.#lanes = Array.from({ length: shardCount }, (_, shard) => new Lane(shard, deps))
    this.#timer = setInterval(() => this.#pumpDue(), deps.limits.flushEveryMs)
    this.#unwatch = deps.carrier.onChange(() => {
      for (const lane of this.#lanes) lane.retryNow()
      this.#pumpDue()
    })
  }

  /** False: not accepted, and counted. Whatever only happened last (heartbeat, connect, disconnect) is always accepted. */
  push(deviceId: string, epoch: number, body: UpBody, size: number, taken?: Taken): boolean {
    const lane = this.#lanes[shardOf(deviceId)]
    if (!lane) throw new RangeError(`no shard for ${deviceId}`)
    const entry = itemOf(deviceId, epoch, body, size, this.#deps.nowMs(), taken)
    if (!entry.latest && this.#full(entry.size)) {
      count(this.#deps.counters.dropped, dropOf(body))
      taken?.(false)
      return false
    }
    lane.queue.push(entry)
    const urgency = urgencyOf(body)
    if (urgency) this.#hurry(lane, urgency)
    else if (lane.queue.size >= this.#deps.limits.maxBatchItems) void lane.pump()
    return true
  }

  /** What waits, and since when. */
  stats(): { items: number; bytes: number; lagMs: number } {
    const oldest = this.#lanes.map(({ queue }) => queue.oldestMs).filter((at) => at !== undefined)
    const now = this.#deps.nowMs()
    return {
      items: this.#sum((lane) => lane.queue.size),
      bytes: this.#sum((lane) => lane.queue.bytes),
      lagMs: oldest.length > 0 ? now - Math.min(...oldest) : 0,
    }
  }

  /** Sends everything now. False when some of it was not accepted in time. */
  async flush(withinMs: number): Promise<boolean> {
    const until = performance.now() + withinMs
    for (const lane of this.#lanes) lane.retryNow()
    while (performance.now() < until) {
      const left = new Promise((resolve) => setTimeout(resolve, until - performance.now()).unref())
      await Promise.race([Promise.all(this.#lanes.map((lane) => lane.pump())), left])
      if (this.stats().items === 0) return true
      await new Promise((resolve) => setTimeout(resolve, retryFlushMs))
    }
    return this.stats().items === 0
  }

  /** Idempotent. What has not been flushed is lost with the node. */
  close(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    clearImmediate(this.#now)
    this.#unwatch()
  }

  #pumpDue(): void {
    for (const lane of this.#lanes) if (lane.due) void lane.pump()
  }

  /** Now: at the end of this turn, so that what came in one read goes in one entry. What comes while that is under way goes in the next. */
  #hurry(lane: Lane, urgency: 'now' | 'soon'): void {
    this.#urgent.add(lane)
    if (urgency === 'now') this.#now ??= setImmediate(() => this.#pumpUrgent())
    else this.#soon ??= setTimeout(() => this.#pumpUrgent(), this.#deps.limits.urgentWithinMs)
  }

  #pumpUrgent(): void {
    clearTimeout(this.#soon)
    clearImmediate(this.#now)
    this.#soon = this.#now = undefined
    for (const urgent of this.#urgent) void urgent.pump()
    this.#urgent.clear()
  }

  #full(bytes: number): boolean {
    const { maxHeldItems, maxHeldBytes } = this.#deps.limits
    const items = this.#sum((lane) => lane.queue.heldItems)
    return items >= maxHeldItems || this.#sum((lane) => lane.queue.heldBytes) + bytes > maxHeldBytes
  }

  #sum(of: (lane: Lane) => number): number {
    return this.#lanes.reduce((sum, lane) => sum + of(lane), 0)
  }
}

const retryFlushMs = 50
