import { type Journal, readJournal, removeJournal, writeJournal } from '../launcher/journal.ts'

/** The agent's hand on the journal: what was written last stands there, in whatever order the disk is done. */
export class Chronicle {
  readonly #stateDir: string
  #present: Journal | undefined
  #last: Promise<void> = Promise.resolve()

  private constructor(stateDir: string, present: Journal | undefined) {
    this.#stateDir = stateDir
    this.#present = present
  }

  static async open(stateDir: string): Promise<Chronicle> {
    return new Chronicle(stateDir, await readJournal(stateDir))
  }

  /** The update under way, or the last one until its end was heard. */
  get present(): Journal | undefined {
    return this.#present
  }

  /** `present` at once; resolves when it is durable. */
  write(journal: Journal): Promise<void> {
    this.#present = journal
    return this.#after(() => writeJournal(this.#stateDir, journal))
  }

  /** The end of an update was heard. Does nothing while one is under way. */
  async close(): Promise<void> {
    if (!this.#present || !['proven', 'reverted', 'failed'].includes(this.#present.stage)) return
    this.#present = undefined
    await this.#after(() => removeJournal(this.#stateDir))
  }

  #after(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}
