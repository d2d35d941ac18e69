import type { Accepted, CommandRow, Effect } from '../judge.ts'

/** A request for work, and what its caller was told in the end: the id, a clear no, or nothing that could be relied on. */
export interface Asked {
  deviceId: string
  /** the script, which no other request asks for */
  content: string
  /** of its `Idempotency-Key`; undefined: it had none */
  key?: string
  told: { id: string } | 'refused' | 'unknown'
}

/** A state that a command had, in the order in which it was committed. */
export interface StateOf {
  commandId: string
  status: string
  /** of the database: a restored one begins another, in which a command may be asked about again */
  life: number
}

/** A line of a device's ledger, in its order. */
export interface LedgerStep {
  deviceId: string
  commandId: string
  state: string
  /** what a command that was received says it is for; undefined: the ledger has let go of it */
  order?: { deviceId: string; orgId: string }
}

/** What the audit log says was sent. */
export interface SendRecord {
  commandId: string
  deviceId: string
  orgId: string | null
}

/** What the database holds against a key: the id that would be answered again; null: no answer. */
export interface Remembered {
  key: string
  commandId: string | null
}

/** All that the checker knows, of one system. Nothing of it was asked of the product. */
export interface Evidence {
  accepted: readonly Accepted[]
  asked: readonly Asked[]
  rows: readonly CommandRow[]
  effects: readonly Effect[]
  states: readonly StateOf[]
  ledgers: readonly LedgerStep[]
  records: readonly SendRecord[]
  remembered: readonly Remembered[]
  /** places in the chains of the audit log that are not as they must be */
  brokenSeals: readonly string[]
  /** rows of the audit log that no chain holds, though there was time for it */
  unsealed: number
}
