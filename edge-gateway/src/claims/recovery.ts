import type { Bus, Unsubscribe } from '@svc/proto/bus'
import type { Claim } from './claims.ts'
import type { FallbackClaims } from './fallback.ts'

export interface RecoveryDeps {
  bus: Bus
  claims: FallbackClaims
  /** the claims of everybody who is connected here */
  held: () => Claim[]
  /** somebody else holds these by now */
  superseded: (claims: readonly Claim[]) => void
  failed: (error: unknown) => void
}

const checkEveryMs = 1_000

/** Puts the shared claims back to use when their store is there again, and keeps trying until that has worked. */
export class Recovery {
  readonly #deps: RecoveryDeps
  readonly #timer: NodeJS.Timeout
  readonly #unwatch: Unsubscribe
  #running: Promise<void> | undefined

  constructor(deps: RecoveryDeps) {
    this.#deps = deps
    this.#timer = setInterval(() => void this.check(), checkEveryMs)
    this.#timer.unref()
    this.#unwatch = deps.bus.onState((up) => {
      if (up) void this.check()
      else deps.claims.lost()
    })
  }

  /** Resolves when the shared claims are in use, or could not be put to use. */
  async check(): Promise<void> {
    const { bus, claims } = this.#deps
    if (!bus.up || claims.sound) return
    this.#running ??= this.#recover()
    await this.#running
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#unwatch()
  }

  async #recover(): Promise<void> {
    const { claims, held, superseded, failed } = this.#deps
    await Promise.resolve()
    try {
      superseded(await claims.recover(held))
    } catch (error) {
      failed(error)
    } finally {
      this.#running = undefined
    }
  }
}
