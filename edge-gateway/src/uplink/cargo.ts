import type { svc } from '@svc/proto'
import { ExchangeDown } from './exchange-call.ts'
import type { Counters } from '../ops/counters.ts'
import type { Limits } from '../ops/limits.ts'

export interface CargoDeps {
  limits: Limits
  counters: Counters
  /** One call: rejects unless the control plane answered in time. */
  call: (up: svc.v1.IShardBatch[]) => Promise<Pick<svc.v1.ExchangeAnswer, 'upAccepted' | 'messages'>>
  /** What came down with an answer, in order. */
  deliver: (messages: readonly Uint8Array[]) => void
}

interface Load {
  shard: number
  batch: Uint8Array
  items: number
  resolve: () => void
  reject: (error: Error) => void
}

/**
 * Batches that the control plane takes directly, because the streams cannot be reached. What is carried in one turn goes together,
 * as far as it fits; one call is under way at a time, and what is carried meanwhile goes in the next.
 */
export class Cargo {
  readonly #deps: CargoDeps
  #waiting: Load[] = []
  #running = false
  #closed = false

  constructor(deps: CargoDeps) {
    this.#deps = deps
  }

  /** Resolves once the control plane has committed the batch; rejects with {@link ExchangeDown}: it goes again. */
  carry(shard: number, batch: Uint8Array, items: number): Promise<void> {
    if (this.#closed) return Promise.reject(new ExchangeDown('closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ shard, batch, items, resolve, reject })
      if (!this.#running) void this.#run()
    })
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true
    this.#fail(this.#waiting.splice(0), new ExchangeDown('closed'))
  }

  async #run(): Promise<void> {
    this.#running = true
    do {
      // A moment for other lanes that have something in the same turn.
      await new Promise(setImmediate)
      await this.#flight(this.#load())
    } while (this.#waiting.length > 0)
    // In the step that found nothing waiting: what is carried next starts anew.
    this.#running = false
  }

  /** At least one batch, at most what fits; in order. */
  #load(): Load[] {
    let bytes = 0
    const beyond = this.#waiting.findIndex(({ batch }, i) => {
      bytes += batch.length
      return i > 0 && bytes > this.#deps.limits.maxCarriedBytes
    })
    return this.#waiting.splice(0, beyond < 0 ? this.#waiting.length : beyond)
  }

  async #flight(loads: Load[]): Promise<void> {
    if (loads.length === 0) return
    const { counters, call, deliver } = this.#deps
    try {
      const { upAccepted, messages } = await call(loads.map(({ shard, batch }) => ({ shard, batch })))
      // One of a version that knows nothing of batches says nothing of them: they are not in its database.
      if (!upAccepted) throw new Error('the control plane does not take what is carried up')
      for (const { resolve, items } of loads) {
        counters.carriedBatches++
        counters.carriedItems += items
        resolve()
      }
      deliver(messages)
    } catch (error) {
      counters.carryFailures++
      const { message } = error as Error
      // All of them: the next flight would meet the same.
      this.#fail([...loads, ...this.#waiting.splice(0)], new ExchangeDown(message, { cause: error }))
    }
  }

  #fail(loads: readonly Load[], error: ExchangeDown): void {
    for (const { reject } of loads) reject(error)
  }
}
