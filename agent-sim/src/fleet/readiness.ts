/** Knows when each of so many agents has been admitted once; a `lenient` one goes on without those that are lost. */
export class Readiness {
  readonly #missing: Set<number>
  readonly #lenient: boolean
  readonly ready: Promise<void>
  #resolve: () => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor(agents: number, lenient = false) {
    this.#lenient = lenient
    this.#missing = new Set(Array.from({ length: agents }, (_, at) => at + 1))
    this.ready = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Whoever waits hears of it; that nobody waits is no error.
    this.ready.catch(() => {})
    if (agents === 0) this.#resolve()
  }

  admitted(number: number): void {
    if (this.#missing.delete(number) && this.#missing.size === 0) this.#resolve()
  }

  /** One that is gone for good; without effect once all were there. */
  lost(number: number, why: string): void {
    if (this.#lenient) this.admitted(number)
    else this.#reject(new Error(`device ${number}: ${why}`))
  }
}
