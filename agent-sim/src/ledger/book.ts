import { svc } from '@svc/proto'
import { type Change, type Entry, replayMarginMs } from './ledger.ts'

/** An acked result is only kept to answer a replay: the server has the outputs. */
function withoutOutputs(result: Uint8Array): Uint8Array {
  const { stdout, stderr, result: _structured, ...rest } = svc.v1.CommandResult.decode(result)
  const size = (output?: svc.v1.Output.$Properties | null) =>
    output
      ? { encoding: output.encoding ?? '', truncated: true, originalSize: output.originalSize ?? 0 }
      : null
  return svc.v1.CommandResult.encode({ ...rest, stdout: size(stdout), stderr: size(stderr) }).finish()
}

/** The in-memory index behind every ledger: changes in, entries out. Knows no disk and no clock. */
export class Book {
  readonly #entries = new Map<string, Entry>()
  head = 0

  find(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  all(): IterableIterator<Entry> {
    return this.#entries.values()
  }

  open(): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.state !== 'acked')
  }

  get size(): number {
    return this.#entries.size
  }

  forget(id: string): void {
    this.#entries.delete(id)
  }

  /** Throws when the change does not follow from the entry's state: that is a defect of the caller. */
  apply(change: Change): void {
    if (change.state === 'received') return this.#receive(change)
    const entry = this.#entries.get(change.id)
    if (!entry) throw new Error(`ledger: ${change.state} of unknown command ${change.id}`)
    if (entry.state === 'acked' || (entry.state === 'finished') !== (change.state === 'acked'))
      throw new Error(`ledger: command ${change.id} is ${entry.state}, cannot become ${change.state}`)
    entry.state = change.state
    if (change.state === 'started') entry.startedAtMs = change.atMs
    if (change.state === 'finished') entry.result = change.result
    if (change.state !== 'started') delete entry.body
    if (change.state === 'acked' && entry.result) entry.result = withoutOutputs(entry.result)
  }

  #receive(change: Change & { state: 'received' }): void {
    if (this.#entries.has(change.id)) throw new Error(`ledger: command ${change.id} received twice`)
    const { id, state, body, attempt, expiresAtMs } = change
    this.#entries.set(id, { id, state, body, attempt, expiresAtMs })
    this.head = Math.max(this.head, change.seq)
  }

  /** Drops what is acked and past its replay margin. */
  prune(now: number): void {
    for (const { id, state, expiresAtMs } of this.#entries.values())
      if (state === 'acked' && expiresAtMs + replayMarginMs < now) this.#entries.delete(id)
  }
}
