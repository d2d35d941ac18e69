/**
 * What an agent remembers of the commands it was given, so that each has its effect at most once (promise P2).
 * An id is kept until the command's expiry plus a margin: until then a replay finds it, afterwards a replay has expired.
 */

/** Clocks of agent and server may differ by less than this. */
export const replayMarginMs = 24 * 3_600_000

export type Change =
  | { state: 'received'; id: string; body: Uint8Array; attempt: number; seq: number; expiresAtMs: number }
  | { state: 'started'; id: string; atMs: number }
  | { state: 'finished'; id: string; result: Uint8Array }
  | { state: 'acked'; id: string }

/** `body` is the signed CommandBody, `result` an encoded CommandResult. */
export interface Entry {
  id: string
  state: Change['state']
  attempt: number
  expiresAtMs: number
  /** present until it is finished */
  body?: Uint8Array
  startedAtMs?: number
  /** present once it is finished; without its outputs once it is acked */
  result?: Uint8Array
}

export interface Ledger {
  /** Highest command sequence seen; informs only. */
  readonly head: number
  find(id: string): Entry | undefined
  /** What is not acked yet, oldest first. */
  open(): Entry[]
  /**
   * `find` sees the change at once; the promise resolves when it would survive a crash, and rejects when it could not be
   * written. Changes become durable in the order of the calls.
   */
  write(change: Change): Promise<void>
  /** Undoes a `received` that could not be written: the command was never acknowledged and will be offered again. */
  forget(id: string): void
  close(): Promise<void>
}
