import type { CloseReason, svc } from '@svc/proto'

/** A device's connection as the whole system knows it: which node holds it, and since which epoch (µs). */
export interface Claim {
  deviceId: string
  epoch: number
  node: string
}

export interface AdmitRequest {
  deviceId: string
  tokenSha256: Buffer
  node: string
  /** clock of the node, µs since 1970 */
  nowUs: number
  /** the control plane was asked about this token: without that a token that is not known is a question, not a refusal */
  asked: boolean
  /** the device's key, of which a proof was shown that holds, and of when that is; µs since 1970 */
  proven?: { publicKey: string; atUs: number } | undefined
  /** of the database, as this node knows it; 0: not known. What is remembered of an earlier one counts for nothing. */
  life: number
}

export type Admission =
  | {
      kind: 'admitted'
      epoch: number
      credentialVersion: number
      heartbeatIntervalMs: number
      /** when the token is to be renewed, ms since 1970; 0: not told */
      renewAtMs: number
      /** whoever held the device before, and has been told that it is superseded */
      evict?: { node: string; epoch: number }
    }
  /** Nothing, or nothing recent enough to refuse by, is known: ask the control plane, remember, try again. */
  | { kind: 'miss' }
  | { kind: 'refused'; reason: CloseReason }
  /** The token alone opens nothing: a proof of this key is needed (its 32 bytes, in hex). */
  | { kind: 'prove'; publicKey: string }

/**
 * Who may connect, and who is connected where: `dev:{id}`, a cache of what the control plane said plus the live claim. It only
 * ever gets newer: an epoch does not fall, and a credential that was revoked stays dead whoever still has its profile in hand.
 *
 * A database that was restored says otherwise than it did: what it says in a later life takes the place of all that was remembered of
 * an earlier one, and what comes late from an earlier one is not taken. Epochs go on over all lives.
 *
 * A claim has no lease of its own: it lasts as long as its node's lease in the control plane.
 */
export interface Claims {
  /**
   * In one step: checks the credential, and that a proof was not shown before, raises the epoch to max(stored + 1, floor + 1, now),
   * takes the claim, tells the node that has lost it.
   */
  admit(request: AdmitRequest): Promise<Admission>
  /** What the control plane knows of devices. An active profile whose credential is dead already is not taken. */
  remember(profiles: readonly svc.v1.IDeviceProfile[]): Promise<void>
  /** Credentials up to and including these versions are dead. */
  revoke(revocations: readonly svc.v1.IRevocation[]): Promise<void>
  /** Gives claims back; one that somebody else has taken since stays untouched. */
  release(claims: readonly Claim[]): Promise<void>
  /**
   * Takes claims without asking who one is, for connections admitted while the store was away, and tells those nodes that have lost
   * them. An empty node raises the epoch alone, and evicts nobody. Answers those that somebody else holds at a higher epoch.
   */
  hold(claims: readonly Claim[]): Promise<Claim[]>
  close(): Promise<void>
}

/** The store cannot be reached; nothing is known about what it did. */
export class ClaimsDown extends Error {
  override name = 'ClaimsDown'
}

export const ttl = {
  /** a profile that nobody needed for so long is asked for again */
  profileMs: 24 * 3_600_000,
  /** no profile written down anywhere may outlive the knowledge that its credential is dead */
  deadMs: 48 * 3_600_000,
  /** what is known of a device that does not exist */
  unknownMs: 60_000,
} as const

/** A refusal needs a profile no older than this: the token may be new, the quarantine over. */
export const refuseByUs = 5_000_000
