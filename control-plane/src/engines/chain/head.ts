import { sign, verify } from 'node:crypto'
import type { KeyPair } from '../../adapters/keys.ts'

/**
 * Where a chain of the audit log ends, told outside of the database. `head`: sealed up to here. `accepted`: whoever restored the
 * database says that what was told of this chain beyond here is lost.
 */
export interface Head {
  kind: 'head' | 'accepted'
  /** all zeros: rows of the system itself */
  partner: string
  seq: number
  /** SHA-256 of the seal, hex; of seq 0, where a chain begins, 64 zeros */
  hash: string
  /** ISO 8601 */
  at: string
}

/** As it stands in files and logs, under the name `auditHead`. */
export interface SignedHead extends Head {
  /** id of the key of KEYS_DIR that signed it */
  key: string
  /** Ed25519, base64 */
  signature: string
}

/** What is signed; docs/decisions/0030. */
const signedText = ({ kind, partner, seq, hash, at }: Head) =>
  Buffer.from(['svc.audit.head.v1', kind, partner, seq, hash, at].join('\n'))

export const signHead = (head: Head, { id, privateKey }: KeyPair): SignedHead => ({
  ...head,
  key: id,
  signature: sign(null, signedText(head), privateKey).toString('base64'),
})

export const isSignedBy = (head: SignedHead, { publicKey }: Pick<KeyPair, 'publicKey'>): boolean =>
  verify(null, signedText(head), publicKey, Buffer.from(head.signature, 'base64'))

/** One line of a file of heads, as of a log. */
export const lineOf = (head: SignedHead): string => `${JSON.stringify({ auditHead: head })}\n`
