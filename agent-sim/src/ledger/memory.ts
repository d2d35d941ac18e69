import type { Clock } from '../clock.ts'
import { Book } from './book.ts'
import type { Change, Entry, Ledger } from './ledger.ts'

const pruneEvery = 64

/** A ledger that dies with the process. */
export class MemoryLedger implements Ledger {
  readonly #book = new Book()
  readonly #clock: Clock
  #writes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get head(): number {
    return this.#book.head
  }

  find(id: string): Entry | undefined {
    return this.#book.find(id)
  }

  open(): Entry[] {
    return this.#book.open()
  }

  async write(change: Change): Promise<void> {
    this.#book.apply(change)
    this.#writes += 1
    if (this.#writes % pruneEvery === 0) this.#book.prune(this.#clock.now())
  }

  forget(id: string): void {
    this.#book.forget(id)
  }

  async close(): Promise<void> {}
}
