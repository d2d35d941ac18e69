import type { CloseReason } from '@svc/proto'

/** A return code of CONNACK: MQTT 3.1.1 §3.2.2.3. */
const codes = { unacceptableVersion: 1, unavailable: 3, badCredential: 4, notAuthorized: 5 } as const
const { unacceptableVersion, unavailable, badCredential, notAuthorized } = codes

/**
 * Why a CONNECT was turned down, in the few words that the protocol has. What an agent does about it follows: *bad user name or
 * password* is said for good; *server unavailable* and *not authorized* may be over later.
 */
export const returnCodes: Record<CloseReason, (typeof codes)[keyof typeof codes]> = {
  CLOSE_REASON_UNSPECIFIED: unavailable,
  SHUTDOWN: unavailable,
  UNINSTALL: badCredential,
  SUPERSEDED: unavailable,
  CREDENTIAL_INVALID: badCredential,
  CREDENTIAL_REVOKED: badCredential,
  DECOMMISSIONED: badCredential,
  QUARANTINED: notAuthorized,
  PROTOCOL_VERSION: unacceptableVersion,
  MALFORMED_FRAME: notAuthorized,
  UNKNOWN_KIND: notAuthorized,
  OVERSIZED_FRAME: notAuthorized,
  UNEXPECTED_FRAME: notAuthorized,
  ADMISSION_TIMEOUT: unavailable,
  ADMISSION_RATE: unavailable,
  UNAVAILABLE: unavailable,
  BACKPRESSURE: unavailable,
  DRAINING: unavailable,
  KEEPALIVE_TIMEOUT: unavailable,
  PEER_CLOSED: unavailable,
  INTERNAL_ERROR: unavailable,
  FRAME_RATE: unavailable,
  PROOF_STALE: unavailable,
  MOVED: unavailable,
}

/** The packet that turns a CONNECT down. */
export const connack = (reason: CloseReason): Buffer => Buffer.from([0x20, 2, 0, returnCodes[reason]])

/** The same for a client of version 5, which reads *unsupported protocol version* differently: MQTT 5 §3.2. */
export const connackOfVersion5: Buffer = Buffer.from([0x20, 3, 0, 0x84, 0])
