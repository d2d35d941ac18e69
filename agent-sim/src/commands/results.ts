import type { svc } from '@svc/proto'
import type { Clock, Timer } from '../clock.ts'

type Result = svc.v1.CommandResult.$Properties & { commandId: string }

const resendEveryMs = 30_000
/** The wire was full: try again this soon. */
const retryMs = 1_000

export interface ResultsOptions {
  clock: Clock
  /** False when it could not be sent now. */
  send: (result: Result) => boolean
}

/** Results that the server has not committed yet: sent at once, on every reconnect and every 30 s until `acked`. */
export class Results {
  readonly #options: ResultsOptions
  readonly #unacked = new Map<string, { result: Result; sentAt: number }>()
  #timer: Timer | undefined
  #live = false

  constructor(options: ResultsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#unacked.size
  }

  add(result: Result): void {
    this.#unacked.set(result.commandId, { result, sentAt: Number.NEGATIVE_INFINITY })
    this.#flush()
  }

  /** True when it was waiting for this. */
  acked(commandId: string): boolean {
    return this.#unacked.delete(commandId)
  }

  connected(): void {
    this.#live = true
    for (const waiting of this.#unacked.values()) waiting.sentAt = Number.NEGATIVE_INFINITY
    this.#flush()
  }

  disconnected(): void {
    this.#live = false
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (!this.#live || this.#unacked.size === 0) return
    const now = this.#options.clock.now()
    let inMs = resendEveryMs
    for (const waiting of this.#unacked.values()) {
      const dueInMs = waiting.sentAt + resendEveryMs - now
      if (dueInMs > 0) inMs = Math.min(inMs, dueInMs)
      else if (this.#options.send(waiting.result)) waiting.sentAt = now
      else inMs = retryMs
    }
    this.#timer = this.#options.clock.after(inMs, () => this.#flush())
  }
}
