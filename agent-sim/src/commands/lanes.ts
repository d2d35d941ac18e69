import { type Lane, lanes } from '@svc/proto'

type Start = () => Promise<void>

/** Runs at most so many jobs per lane at once and the rest in order of arrival: one stuck job holds up its own lane only. */
export class Lanes {
  readonly #running: Record<Lane, number> = { interactive: 0, work: 0, bulk: 0 }
  readonly #waiting: Record<Lane, Start[]> = { interactive: [], work: [], bulk: [] }
  readonly #jobs = new Set<Promise<void>>()
  #closed = false

  /** `start` must not reject. The answer takes it out again: true when it had not begun. */
  enter(lane: Lane, start: Start): () => boolean {
    this.#waiting[lane].push(start)
    this.#next(lane)
    return () => {
      const at = this.#waiting[lane].indexOf(start)
      if (at >= 0) this.#waiting[lane].splice(at, 1)
      return at >= 0
    }
  }

  /** Begins nothing any more; resolves when what runs has ended. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#jobs)
  }

  #next(lane: Lane): void {
    if (this.#closed || this.#running[lane] >= lanes[lane]) return
    const start = this.#waiting[lane].shift()
    if (!start) return
    this.#running[lane] += 1
    const job = start().finally(() => {
      this.#jobs.delete(job)
      this.#running[lane] -= 1
      this.#next(lane)
    })
    this.#jobs.add(job)
  }
}
