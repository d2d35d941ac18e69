import { setTimeout as sleep } from 'node:timers/promises'

/** Requests that somebody may make, until something is revoked. */
export interface Asking {
  what: string
  /** the status of their refusal */
  refusal: number
  /** @param url of a control plane */
  ask: (url: string) => Promise<number>
  /** between two of them; by default a quarter of a second */
  everyMs?: number
}

/** When a request began, in ms since 1970, and what it was answered. */
interface Answer {
  began: number
  status: number
}

const isAccepted = ({ status }: Answer) => status >= 200 && status < 300

/** Makes the same request at one control plane again and again until it is refused. */
export class Requests {
  readonly what: string
  readonly #asking: Asking
  readonly #url: string
  readonly #answers: Answer[] = []
  readonly #running: Promise<void>
  #stopped = false

  constructor(asking: Asking, url: string) {
    this.what = `${asking.what} at ${url}`
    this.#asking = asking
    this.#url = url
    this.#running = this.#run()
  }

  get accepted(): boolean {
    return this.#answers.some(isAccepted)
  }

  get refused(): boolean {
    return this.#answers.some(({ status }) => status === this.#asking.refusal)
  }

  /** How long after `acted` requests began that were accepted all the same; infinite where none has been refused since. */
  acceptedFor(acted: number): number {
    const refusal = this.#answers.findLast(({ status }) => status === this.#asking.refusal)
    if (!refusal || refusal.began < acted) return Number.POSITIVE_INFINITY
    const accepted = this.#answers.findLast(isAccepted)
    return Math.max(0, (accepted?.began ?? 0) - acted)
  }

  /** Answers that are neither, as 500 and 503 are; and that there was none that was accepted. */
  faults(): string[] {
    const wrong = this.#answers.filter((one) => !isAccepted(one) && one.status !== this.#asking.refusal)
    return [
      ...wrong.slice(0, 1).map(({ status }) => `${this.what}: ${status}`),
      ...(this.accepted ? [] : [`${this.what}: never accepted`]),
    ]
  }

  /** One more: what is refused stays so. */
  async again(): Promise<void> {
    await this.stop()
    await this.#one()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped && !this.refused) {
      await this.#one()
      await sleep(this.#asking.everyMs ?? 250)
    }
  }

  async #one(): Promise<void> {
    const began = Date.now()
    // A connection that fails is an answer like another: one that must not be.
    const status = await this.#asking.ask(this.#url).catch(() => 0)
    this.#answers.push({ began, status })
  }
}
