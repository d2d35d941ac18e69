import { svc } from '@svc/proto'
import { BusDown, StreamFull } from '@svc/proto/bus'
import { ExchangeDown } from './exchange-call.ts'
import type { Counters } from '../ops/counters.ts'
import type { Limits } from '../ops/limits.ts'
import type { Carrier } from './carrier.ts'
import { Queue } from './queue.ts'

export interface LaneDeps {
  carrier: Carrier
  node: string
  limits: Limits
  counters: Counters
  /** the server's time; it may be set at any moment, so spans are measured by another clock */
  nowMs: () => number
  /** a failure that is not the carrier being away */
  failed: (error: unknown) => void
}

/** What carriers reject with when they are away or full. */
const expected = [BusDown, StreamFull, ExchangeDown]

/** One shard's way up. One append at a time, so that order holds; what is not accepted goes again, in its place. */
export class Lane {
  readonly queue = new Queue()
  readonly #deps: LaneDeps
  readonly #shard: number
  /** everything received before then stands in entries that were accepted, or in the one being sent */
  #throughMs: number
  #acceptedMs = Number.NEGATIVE_INFINITY
  #retryMs = 0
  #retryAtMs = 0
  #running: Promise<void> | undefined
  #again = false

  constructor(shard: number, deps: LaneDeps) {
    this.#deps = deps
    this.#shard = shard
    this.#throughMs = deps.nowMs()
  }

  /** Time for an entry: of what cannot wait, of heartbeats that have, even of nothing, since the reader judges silence by it. */
  get due(): boolean {
    const { queue } = this
    const { limits } = this.#deps
    if (queue.size > queue.patient || queue.size >= limits.maxBatchItems) return true
    const everyMs = queue.size > 0 ? limits.heartbeatsEveryMs : limits.watermarkEveryMs
    return performance.now() - this.#acceptedMs >= everyMs
  }

  /** The carrier is back, or everything is to go: no more waiting. */
  retryNow(): void {
    this.#retryMs = this.#retryAtMs = 0
    this.#acceptedMs = Number.NEGATIVE_INFINITY
  }

  /** Sends what is there by now. Never rejects. */
  pump(): Promise<void> {
    // Whoever asks while a batch is under way has something that is not in it.
    this.#again = true
    this.#running ??= this.#send()
    return this.#running
  }

  async #send(): Promise<void> {
    const { carrier, limits } = this.#deps
    // Not before the caller has noted that this runs.
    await Promise.resolve()
    try {
      while (this.#again && this.due && carrier.up && performance.now() >= this.#retryAtMs) {
        this.#again = false
        const rest = await this.#sendOne()
        // What trickles in meanwhile waits for its own batch, else a busy shard would send single items.
        if (rest > 0 || this.queue.size >= limits.maxBatchItems) this.#again = true
      }
    } finally {
      this.#again = false
      this.#running = undefined
    }
  }

  /** Answers with how many items did not fit; 0 after a failure. */
  async #sendOne(): Promise<number> {
    const { carrier, node, limits, counters, nowMs } = this.#deps
    const batch = this.queue.take(limits)
    const rest = this.queue.size
    const through = rest === 0 ? nowMs() : this.#throughMs
    const items = batch.map(({ item }) => item)
    try {
      await carrier.append(
        this.#shard,
        svc.v1.UpBatch.encode({ node, completeThroughMs: through, items }).finish(),
        items.length,
      )
    } catch (error) {
      this.queue.putBack(batch)
      this.#backOff(error)
      return 0
    }
    this.#throughMs = through
    // What did not fit has waited as long.
    this.#acceptedMs = rest === 0 ? performance.now() : Number.NEGATIVE_INFINITY
    this.#retryMs = 0
    counters.batches++
    counters.batchItems += batch.length
    for (const { taken } of batch) for (const tell of taken) tell(true)
    return rest
  }

  #backOff(error: unknown): void {
    const { limits, counters, failed } = this.#deps
    counters.appendFailures++
    if (!expected.some((kind) => error instanceof kind)) failed(error)
    this.#retryMs = Math.min(limits.maxRetryAppendMs, Math.max(limits.retryAppendMs, this.#retryMs * 2))
    this.#retryAtMs = performance.now() + this.#retryMs * (0.5 + Math.random() / 2)
  }
}
