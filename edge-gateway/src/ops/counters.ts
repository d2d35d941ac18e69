import type { CloseReason } from '@svc/proto'

/** Things that are counted by kind. */
export type Tally<K extends string = string> = Partial<Record<K, number>>

/** What was thrown away or not accepted, and why: nothing is lost without one of these. */
export type Drop =
  | 'deliver_unknown_device'
  | 'deliver_stale_epoch'
  | 'bad_edge_message'
  | 'backpressure'
  | 'up_refused_result'
  | 'up_refused_ack'
  | 'up_refused_progress'
  | 'up_refused_inventory'
  | 'up_refused_update_status'
  | 'up_refused_credential_proposal'

/** Plain numbers: one addition on the hot path; metrics and `stats()` read them when asked. */
export class Counters {
  /** connections that passed the upgrade */
  opened = 0
  admitted = 0
  /** admissions decided without the shared claims */
  admittedLocally = 0
  /** admissions that had to ask the control plane */
  missed = 0
  superseded = 0
  framesUp = 0
  framesDown = 0
  /** of those frames, without what the wire itself adds */
  bytesUp = 0
  bytesDown = 0
  /** frames that had to wait for a slow reader */
  framesQueued = 0
  batches = 0
  batchItems = 0
  appendFailures = 0
  exchanges = 0
  exchangeFailures = 0
  /** of `batches`, those that went up by the exchange; and calls that failed to carry theirs */
  carriedBatches = 0
  carriedItems = 0
  carryFailures = 0
  /** messages that came with answers, because the bus was away */
  messagesReturned = 0
  revocations = 0
  /** of those, the ones that came later than promise P7 has it */
  lateRevocations = 0
  /** times that the bus came back: what was published meanwhile was not heard here */
  busGaps = 0
  /** times that listening stopped for want of file descriptors */
  descriptorPauses = 0
  /** unexpected errors that were caught at a boundary */
  errors = 0
  /** turned away before they said anything, by HTTP status */
  readonly rejected: Tally = {}
  readonly refused: Tally<CloseReason> = {}
  readonly closed: Tally<CloseReason> = {}
  readonly dropped: Tally<Drop> = {}
}

/** One more of that kind. */
export const count = <K extends string>(tally: Tally<K>, kind: K): void => {
  tally[kind] = (tally[kind] ?? 0) + 1
}
