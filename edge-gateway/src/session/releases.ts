import type { Claim, Claims } from '../claims/claims.ts'

/** Claims given back, in chunks: when many leave at once that is a few round trips, not one for each. */
export class Releases {
  readonly #claims: Claims
  readonly #chunk: number
  readonly #failed: (error: unknown) => void
  #waiting: Claim[] = []
  #running: Promise<void> | undefined

  constructor(claims: Claims, chunk: number, failed: (error: unknown) => void) {
    this.#claims = claims
    this.#chunk = chunk
    this.#failed = failed
  }

  add(claim: Claim): void {
    this.#waiting.push(claim)
    this.#running ??= this.#run()
  }

  /** Resolves when everything given back so far has been. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      // One that fails for another reason than the store's absence stays behind; the next admission takes it over.
      await this.#claims.release(this.#waiting.splice(0, this.#chunk)).catch(this.#failed)
    }
    this.#running = undefined
  }
}
