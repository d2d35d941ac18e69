import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { Book } from './book.ts'
import type { Change, Entry, Ledger } from './ledger.ts'
import { changesOf, fromLine, toLine } from './lines.ts'

/** Compacted when the file is larger than this and at least twice as large as after the last compaction. */
const compactAboveBytes = 4 * 1024 * 1024

interface Waiting {
  line: string
  done: () => void
  failed: (error: unknown) => void
}

/**
 * A ledger in `<dir>/ledger.jsonl`, append-only. Changes that arrive while one write is under way share the next one and its
 * fsync. The file belongs to one process (see lock.ts).
 */
export class DiskLedger implements Ledger {
  readonly #path: string
  readonly #clock: Clock
  readonly #trouble: (text: string) => void
  readonly #book = new Book()
  #file: FileHandle | undefined
  #size = 0
  #compactedSize = 0
  #afterFailure = false
  #waiting: Waiting[] = []
  #draining = false
  #drained = Promise.resolve()

  private constructor(dir: string, clock: Clock, trouble: (text: string) => void) {
    this.#path = join(dir, 'ledger.jsonl')
    this.#clock = clock
    this.#trouble = trouble
  }

  /**
   * Opens or creates it. Damaged lines are left out: they were never acknowledged.
   *
   * @param trouble told where the file could not be made smaller: nothing is lost, and it grows
   */
  static async open(dir: string, clock: Clock, trouble: (text: string) => void): Promise<DiskLedger> {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const ledger = new DiskLedger(dir, clock, trouble)
    await ledger.#replay()
    await ledger.#compact()
    return ledger
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

  forget(id: string): void {
    this.#book.forget(id)
  }

  write(change: Change): Promise<void> {
    this.#book.apply(change)
    return new Promise((done, failed) => {
      this.#waiting.push({ line: toLine(change), done, failed })
      if (!this.#draining) this.#drained = this.#drain()
    })
  }

  async close(): Promise<void> {
    await this.#drained
    await this.#file?.close()
    this.#file = undefined
  }

  async #replay(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    for (const line of text.split('\n')) {
      const change = line ? fromLine(line) : undefined
      if (change && follows(this.#book.find(change.id), change)) this.#book.apply(change)
    }
  }

  /** Never rejects. `#draining` falls in the same step that finds nothing waiting, so no change is left behind. */
  async #drain(): Promise<void> {
    this.#draining = true
    while (this.#waiting.length > 0) {
      await this.#commit(this.#waiting.splice(0))
      if (this.#size > Math.max(compactAboveBytes, 2 * this.#compactedSize)) await this.#tryCompact()
    }
    this.#draining = false
  }

  async #commit(batch: Waiting[]): Promise<void> {
    try {
      await this.#append(batch.map(({ line }) => line).join(''))
      for (const { done } of batch) done()
    } catch (error) {
      this.#afterFailure = true
      for (const { failed } of batch) failed(error)
    }
  }

  async #append(text: string): Promise<void> {
    if (!this.#file) throw new Error('the ledger is closed')
    // What a failed write left behind must not join up with the next line.
    const bytes = Buffer.from(this.#afterFailure ? `\n${text}` : text)
    await this.#file.appendFile(bytes)
    await this.#file.datasync()
    this.#afterFailure = false
    this.#size += bytes.length
  }

  /** The old file stays whole and in use when there is no room for a new one: the next attempt waits until it has doubled. */
  async #tryCompact(): Promise<void> {
    await this.#compact().catch((error: unknown) => {
      this.#compactedSize = this.#size
      this.#trouble(`the ledger cannot be made smaller: ${(error as Error).message}`)
    })
  }

  /**
   * Writes what still counts into a new file and puts it in place of the old one in one step. A change that arrives meanwhile may
   * stand in it and be appended again: a replay skips what does not follow.
   */
  async #compact(): Promise<void> {
    this.#book.prune(this.#clock.now())
    const lines = [...this.#book.all()].flatMap((entry) => changesOf(entry, this.#book.head)).map(toLine)
    const text = lines.join('')
    const fresh = await open(`${this.#path}.new`, 'w', 0o600)
    try {
      await fresh.writeFile(text)
      await fresh.datasync()
      await rename(`${this.#path}.new`, this.#path)
    } catch (error) {
      await fresh.close()
      throw error
    }
    const old = this.#file
    this.#file = fresh
    this.#size = this.#compactedSize = Buffer.byteLength(text)
    await old?.close()
    await syncFolder(this.#path)
  }
}

/** A damaged line may leave a gap: what does not connect any more is left out with it. */
const follows = (entry: Entry | undefined, { state }: Change): boolean =>
  state === 'received'
    ? !entry
    : entry !== undefined && (state === 'acked' ? entry.state === 'finished' : entry.result === undefined)

/** A rename is durable once its folder is (fsync(2), notes). */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(join(path, '..'), 'r')
  await folder.sync()
  await folder.close()
}
