import { join } from 'node:path'
import { readObject, writeWhole } from '../launcher/whole-file.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** How long a release rests on this device after it failed there for the first time, the second, and any later one. */
const restsMs = [15 * minuteMs, 60 * minuteMs, dayMs] as const
/** Downloads of one file in 24 hours. */
const downloadsLimit = 3
/** Nobody offers what is older than this again; and of what is newer not so many are kept. */
const forgetAfterMs = 30 * dayMs
const targetsLimit = 32

interface Target {
  failures: number
  failedAtMs: number
  /** when its file was downloaded, in the last 24 hours */
  downloads: number[]
}

/** What tells one file from another: two releases of one version are two. */
export const keyOf = (component: string, { version, sha256 }: { version: string; sha256: string }): string =>
  `${component} ${version} ${sha256}`

/** What was tried, kept over restarts: the newest release of each component ever believed, and which files went wrong. Times are the server's. */
export class Targets {
  readonly #path: string
  readonly #targets: Map<string, Target>
  readonly #sequences: Map<string, number>

  private constructor(path: string, sequences: Map<string, number>, targets: Map<string, Target>) {
    this.#path = path
    this.#sequences = sequences
    this.#targets = targets
  }

  static async open(stateDir: string): Promise<Targets> {
    const path = join(stateDir, 'releases.json')
    const { sequence, sequences, targets } = (await readObject(path)) ?? {}
    const entries = Object.entries((targets ?? {}) as Record<string, Target>)
    // Agents before this one kept a single number, which mostly was their own.
    const known = sequences ?? (typeof sequence === 'number' ? { agent: sequence } : {})
    return new Targets(path, new Map(Object.entries(known as Record<string, number>)), new Map(entries))
  }

  /**
   * The highest ever accepted: a component never goes back to what was published before it (no replay). Each by itself, for the newest
   * release that has a helper may be older than the newest that has an agent.
   */
  sequenceOf(component: string): number {
    return this.#sequences.get(component) ?? 0
  }

  /** Resolves when it is written: nothing is done before that could make a crash forget it. */
  async accept(component: string, sequence: number): Promise<void> {
    if (sequence <= this.sequenceOf(component)) return
    this.#sequences.set(component, sequence)
    await this.#write()
  }

  /** Until when the file rests; 0: it may be tried. */
  restsUntil(key: string, now: number): number {
    const target = this.#targets.get(key)
    if (!target) return 0
    const until = target.failedAtMs + (restsMs[Math.min(target.failures, restsMs.length) - 1] ?? 0)
    return until > now ? until : 0
  }

  /** Until when it may not be downloaded; 0: it may. */
  fullUntil(key: string, now: number): number {
    const recent = this.#recent(key, now)
    return recent.length < downloadsLimit ? 0 : (recent.at(-downloadsLimit) ?? now) + dayMs
  }

  async downloading(key: string, now: number): Promise<void> {
    this.#targets.set(key, { ...this.#of(key), downloads: [...this.#recent(key, now), now] })
    await this.#write()
  }

  /** Said twice with the same time it counts once: a crash may come between this and whatever made it known. */
  async failed(key: string, atMs: number): Promise<void> {
    const target = this.#of(key)
    if (target.failures > 0 && target.failedAtMs === atMs) return
    this.#targets.set(key, { ...target, failures: target.failures + 1, failedAtMs: atMs })
    await this.#write()
  }

  #of(key: string): Target {
    return this.#targets.get(key) ?? { failures: 0, failedAtMs: 0, downloads: [] }
  }

  #recent(key: string, now: number): number[] {
    return this.#of(key).downloads.filter((at) => Math.abs(now - at) < dayMs)
  }

  async #write(): Promise<void> {
    const last = ({ failedAtMs, downloads }: Target) => Math.max(failedAtMs, ...downloads)
    const newest = [...this.#targets].toSorted(([, a], [, b]) => last(b) - last(a)).slice(0, targetsLimit)
    const limit = Math.max(0, ...newest.map(([, target]) => last(target))) - forgetAfterMs
    const targets = Object.fromEntries(newest.filter(([, target]) => last(target) > limit))
    const sequences = Object.fromEntries(this.#sequences)
    await writeWhole(this.#path, `${JSON.stringify({ sequences, targets }, null, 2)}\n`)
  }
}
