/** Promise P7: five seconds; this is what it costs when the bus is away. */
export const maxAgeMs = 2_000
export interface Remembering {
  /** instead of {@link maxAgeMs} */
  rememberMs?: number
  /** the time that servers share, ms since 1970; default: the host's */
  now?: () => number
}

/** Kept for this long after their last use at most; a fleet of operators is small. */
const maxEntries = 10_000

interface Entry<T> {
  value: Promise<T | undefined>
  /** ms since 1970, to be compared with what others say of time */
  at: number
  /** ms of the clock that nobody sets: one that was put back must not keep what is remembered good until it has caught up */
  since: number
}

/**
 * What every request asks the database for, remembered for two seconds. One flight per key, whatever number of requests waits for
 * it; a failure is not remembered, so whoever asks next tries again.
 */
export class FreshCache<T> {
  readonly #entries = new Map<string, Entry<T>>()
  readonly #keepAbsent: boolean
  readonly #maxAgeMs: number
  readonly #now: () => number

  /** @param options `keepAbsent` false: keys come from strangers, and what there is not takes nobody's place */
  constructor({ keepAbsent, rememberMs = maxAgeMs, now = Date.now }: { keepAbsent: boolean } & Remembering) {
    this.#keepAbsent = keepAbsent
    this.#maxAgeMs = rememberMs
    this.#now = now
  }

  /** What is remembered, or on its way, and young enough; else what `load` says. @param notBefore ms: what was asked for before this will not do */
  find(key: string, load: () => Promise<T | undefined>, notBefore = 0): Promise<T | undefined> {
    const entry = this.#entries.get(key)
    if (entry && entry.at >= notBefore && performance.now() - entry.since <= this.#maxAgeMs)
      return entry.value
    const fresh: Entry<T> = { value: load(), at: this.#now(), since: performance.now() }
    this.#remember(key, fresh)
    fresh.value.then(
      (value) => {
        if (value === undefined && !this.#keepAbsent) this.#forget(key, fresh)
      },
      () => this.#forget(key, fresh),
    )
    return fresh.value
  }

  /** @param key undefined: all */
  drop(key: string | undefined): void {
    if (key === undefined) this.#entries.clear()
    else this.#entries.delete(key)
  }

  #remember(key: string, entry: Entry<T>): void {
    this.#entries.delete(key) // re-inserted, so that the first key is the one loaded longest ago
    this.#entries.set(key, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest)
  }

  #forget(key: string, entry: Entry<T>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }
}
