/** How many work, how many wait, and how many there was no room for so far. */
export interface Load {
  running: number
  waiting: number
  refused: number
}

export interface TurnLimits {
  atOnce: number
  maxWaiting: number
  /** how long one may wait, in milliseconds; default: as long as it takes */
  waitMs?: number
}

/** Work of which only so much is under way at once; the rest waits in the order in which it came, up to a number and a time. */
export class Turns {
  readonly #atOnce: number
  readonly #maxWaiting: number
  readonly #waitMs: number | undefined
  readonly #full: () => Error
  readonly #waiting = new Set<() => void>()
  #running = 0
  #refused = 0

  /** @param full what whoever finds no room is told */
  constructor(limits: TurnLimits, full: () => Error) {
    this.#atOnce = limits.atOnce
    this.#maxWaiting = limits.maxWaiting
    this.#waitMs = limits.waitMs
    this.#full = full
  }

  /** @throws what `full` makes when too many wait, or it waited too long; then nothing was begun */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#turn()
    try {
      return await work()
    } finally {
      const [next] = this.#waiting
      if (next) next()
      else this.#running--
    }
  }

  load(): Load {
    return { running: this.#running, waiting: this.#waiting.size, refused: this.#refused }
  }

  async #turn(): Promise<void> {
    if (this.#running < this.#atOnce) {
      this.#running++
      return
    }
    if (this.#waiting.size >= this.#maxWaiting) throw this.#refusal()
    await new Promise<void>((resume, refuse) => {
      const leave = () => {
        this.#waiting.delete(go)
        clearTimeout(late)
      }
      const go = () => {
        leave()
        resume() // the turn is handed over
      }
      const late =
        this.#waitMs === undefined
          ? undefined
          : setTimeout(() => {
              leave()
              refuse(this.#refusal())
            }, this.#waitMs)
      this.#waiting.add(go)
    })
  }

  #refusal(): Error {
    this.#refused++
    return this.#full()
  }
}
