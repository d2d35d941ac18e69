import { BusDown, type Consumer, names, type Unsubscribe } from '@svc/proto/bus'
import { handleEntries, type StreamDeps } from './inbox.ts'
import { LeaseLost, type ShardLease } from './lease.ts'
import { backOff, Pauses } from './pause.ts'

/** One shard being worked off, until it is stopped or its lease is lost. Shards know nothing of one another. */
export class Shard {
  readonly lease: ShardLease
  readonly #deps: StreamDeps
  readonly #consumer: Consumer
  readonly #pauses = new Pauses()
  readonly #done: Promise<void>
  #reading = false
  #claimedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #unwatch: Unsubscribe = () => {}

  /** @param lost called once if another worker turns out to own the shard */
  constructor(deps: StreamDeps, lease: ShardLease, lost: () => void) {
    this.lease = lease
    this.#deps = deps
    this.#consumer = deps.ports.bus.consumer(names.up(lease.shard), names.upGroup(), lease.owner)
    this.#done = this.#work(lost)
  }

  /** Idempotent. Resolves when the batch in hand is committed and acknowledged, or given up. */
  async stop(): Promise<void> {
    this.#pauses.stop()
    if (this.#reading) await this.#consumer.close() // ends the wait for entries
    await this.#done
  }

  async #work(lost: () => void): Promise<void> {
    while (!this.#pauses.stopped) {
      try {
        await this.#round()
        this.#failures = 0
      } catch (error) {
        if (error instanceof LeaseLost) {
          this.#deps.log.warn({ shard: this.lease.shard }, error.message)
          lost()
          break
        }
        await this.#recover(error)
      }
    }
    this.#unwatch()
    await this.#consumer.close()
  }

  async #round(): Promise<void> {
    const { pipeline } = this.#deps.ports.config
    await this.#claim(pipeline.workerLeaseMs)
    const began = performance.now()
    this.#reading = true
    const entries = await this.#consumer
      .read({ count: pipeline.readCount, blockMs: pipeline.readBlockMs })
      .finally(() => {
        this.#reading = false
      })
    if (entries.length === 0) {
      // A carrier that is closing answers at once.
      if (performance.now() - began < 1) await this.#pauses.wait(pipeline.retryMs)
      return
    }
    await handleEntries(this.#deps, this.lease, entries)
    await this.#consumer.ack(entries.map((entry) => entry.id))
  }

  /**
   * On taking over, and now and then: a former owner that was blocked in a read when it lost the shard may have been handed entries
   * after the take-over, and can neither commit nor give them back.
   */
  async #claim(everyMs: number): Promise<void> {
    if (performance.now() - this.#claimedAt < everyMs) return
    await this.#consumer.claimAbandoned()
    this.#claimedAt = performance.now()
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#pauses.stopped) return
    this.#failures++
    const { log, ports } = this.#deps
    const pause = backOff(this.#failures, ports.config.pipeline)
    const details = { shard: this.lease.shard, failures: this.#failures, err: error }
    if (error instanceof BusDown) log.warn(details, 'the bus is away; trying again')
    else log.error(details, 'a batch could not be handled; it stays and is tried again')
    this.#consumer.rewind()
    await Promise.race([this.#pauses.wait(pause), this.#return()])
  }

  /** Resolves when the bus is back after it was away: what waited for it need not wait out a pause that has grown long. */
  async #return(): Promise<void> {
    const { bus } = this.#deps.ports
    await new Promise<void>((resolve) => {
      let wasUp = bus.up
      const unwatch = bus.onState((up) => {
        if (up && !wasUp) resolve()
        wasUp = up
      })
      this.#unwatch()
      this.#unwatch = unwatch
    })
  }
}
