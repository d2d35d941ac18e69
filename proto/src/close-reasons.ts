import { svc } from './gen/svc.js'

export type CloseReason = keyof typeof svc.v1.CloseReason

/**
 * What the agent does after a close:
 * - `stop`: the credential is dead or the agent is unwanted; it does not come back by itself
 * - `later`: it comes back with back-off and jitter
 * - `move`: it comes back within the window it was given
 */
type After = 'stop' | 'later' | 'move'

/** One list for close frames, `Refused`, `Goodbye`, session events and metric labels. */
export const closeReasons: Record<CloseReason, After> = {
  CLOSE_REASON_UNSPECIFIED: 'later',
  SHUTDOWN: 'later',
  UNINSTALL: 'stop',
  SUPERSEDED: 'later',
  CREDENTIAL_INVALID: 'stop',
  CREDENTIAL_REVOKED: 'stop',
  DECOMMISSIONED: 'stop',
  QUARANTINED: 'later',
  PROTOCOL_VERSION: 'later',
  MALFORMED_FRAME: 'later',
  UNKNOWN_KIND: 'later',
  OVERSIZED_FRAME: 'later',
  UNEXPECTED_FRAME: 'later',
  ADMISSION_TIMEOUT: 'later',
  ADMISSION_RATE: 'later',
  UNAVAILABLE: 'later',
  BACKPRESSURE: 'later',
  DRAINING: 'move',
  KEEPALIVE_TIMEOUT: 'later',
  PEER_CLOSED: 'later',
  INTERNAL_ERROR: 'later',
  FRAME_RATE: 'later',
  PROOF_STALE: 'later',
  MOVED: 'later',
}

/** WebSocket close codes 4000–4999 are private use (RFC 6455 §7.4.2): 4000 + the reason's number. */
export const closeCode = (reason: CloseReason): number => 4000 + svc.v1.CloseReason[reason]

/** The reason behind a WebSocket close code; anything foreign is the peer's own doing. */
export const closeReasonOf = (code: number): CloseReason => {
  const name = svc.v1.CloseReason[code - 4000] as CloseReason | undefined
  return name && code > 4000 ? name : 'PEER_CLOSED'
}

/** The metric label: lower case, as in `credential_invalid`. */
export const closeLabel = (reason: CloseReason): string => reason.toLowerCase()
