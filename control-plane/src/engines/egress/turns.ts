import { EgressError } from '../../adapters/egress.ts'

/** How much is done at once, and how much may wait for it. */
export interface Room {
  atOnce: number
  perKey: number
  waiting: number
  waitingPerKey: number
}

interface Line {
  running: number
  waiting: (() => void)[]
}

const busy = (why: string) => new EgressError('BUSY', why)

/**
 * Turns by key: each key has so many, all together have so many. Whoever waits gets one in the order in which it came within its key, and
 * keys get theirs one after the other: one that asks much makes nobody else wait behind all of it.
 */
export class Turns {
  readonly #room: Room
  /** of keys that run or wait; the one that was served last is the last */
  readonly #lines = new Map<string, Line>()
  #running = 0
  #waiting = 0

  constructor(room: Room) {
    this.#room = room
  }

  /** Whether nothing is left of any key. */
  get idle(): boolean {
    return this.#lines.size === 0
  }

  /** @throws EgressError BUSY when too many wait, or `signal` ends the wait by a time limit; else its reason */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(key, signal)
    try {
      return await work()
    } finally {
      this.#leave(key)
    }
  }

  #lineOf(key: string): Line {
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] }
    this.#lines.set(key, line)
    return line
  }

  async #turn(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const line = this.#lineOf(key)
    if (this.#running < this.#room.atOnce && line.running < this.#room.perKey) {
      this.#enter(line)
      return
    }
    if (line.waiting.length >= this.#room.waitingPerKey || this.#waiting >= this.#room.waiting) {
      this.#forget(key, line)
      throw busy('more such requests wait already than can be made soon')
    }
    await this.#wait(key, line, signal)
  }

  #wait(key: string, line: Line, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', giveUp)
        this.#waiting--
        this.#enter(line)
        resolve()
      }
      const giveUp = () => {
        line.waiting.splice(line.waiting.indexOf(enter), 1)
        this.#waiting--
        this.#forget(key, line)
        const late = signal.reason instanceof EgressError && signal.reason.code === 'TIMED_OUT'
        reject(late ? busy('it was not the turn of this request in time') : signal.reason)
      }
      line.waiting.push(enter)
      this.#waiting++
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  #enter(line: Line): void {
    line.running++
    this.#running++
  }

  #leave(key: string): void {
    const left = this.#lineOf(key)
    left.running--
    this.#running--
    this.#forget(key, left)
    for (const [next, line] of this.#lines) {
      if (line.running >= this.#room.perKey) continue
      const enter = line.waiting.shift()
      if (!enter) continue
      this.#lines.delete(next)
      this.#lines.set(next, line)
      enter()
      return
    }
  }

  #forget(key: string, line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(key)
  }
}
