import type { Entry } from './bus.ts'

interface Group {
  /** highest id handed out */
  delivered: number
  /** handed out and not acknowledged: id → consumer, in id order */
  pending: Map<number, string>
}

/** An append-only list with consumer groups, as far as the bus needs it; ids count up from 1. */
export class MemoryStream {
  readonly #entries = new Map<number, Uint8Array>()
  readonly #groups = new Map<string, Group>()
  readonly #waiting = new Set<() => void>()
  #last = 0

  /** entries not trimmed yet */
  get size(): number {
    return this.#entries.size
  }

  append(payload: Uint8Array): void {
    this.#entries.set(++this.#last, payload)
    this.wake()
  }

  wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Resolves with the next append or wake, or after `ms`. */
  arrival(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiting.add(done)
    })
  }

  deliver(group: string, consumer: string, count: number): Entry[] {
    const state = this.#group(group)
    const fresh: Entry[] = []
    while (fresh.length < count && state.delivered < this.#last) {
      const id = ++state.delivered
      const payload = this.#entries.get(id)
      if (!payload) continue
      state.pending.set(id, consumer)
      fresh.push({ id: String(id), payload })
    }
    return fresh
  }

  pendingOf(group: string, consumer: string, above: number, count: number): Entry[] {
    const own: Entry[] = []
    for (const [id, owner] of this.#group(group).pending) {
      if (own.length === count) break
      const payload = this.#entries.get(id)
      if (owner === consumer && id > above && payload) own.push({ id: String(id), payload })
    }
    return own
  }

  claimAll(group: string, consumer: string): void {
    const { pending } = this.#group(group)
    for (const id of pending.keys()) pending.set(id, consumer)
  }

  /** Forgets the ids, then every entry that each group has done with. */
  ack(group: string, ids: readonly string[]): void {
    const state = this.#group(group)
    for (const id of ids) state.pending.delete(Number(id))
    const done = Math.min(...[...this.#groups.values()].map(oldestOpen))
    for (const id of this.#entries.keys()) {
      if (id >= done) break
      this.#entries.delete(id)
    }
  }

  #group(name: string): Group {
    const group = this.#groups.get(name) ?? { delivered: 0, pending: new Map() }
    this.#groups.set(name, group)
    return group
  }
}

const oldestOpen = ({ pending, delivered }: Group): number => pending.keys().next().value ?? delivered + 1
