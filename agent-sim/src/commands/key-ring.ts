import { createPublicKey, type KeyObject } from 'node:crypto'

/** Key id → public key that commands may be signed with. */
export type KeyRing = ReadonlyMap<string, KeyObject>

/** As enrollment gives it: `publicKey` is base64 of the raw 32 bytes (RFC 8032 §5.1.5). */
export interface SigningKey {
  keyId: string
  publicKey: string
}

/** Throws when a key is not an Ed25519 public key. */
export const keyRing = (keys: readonly SigningKey[]): KeyRing =>
  new Map(keys.map(({ keyId, publicKey }) => [keyId, fromRaw(publicKey)]))

/** Ed25519 as a JWK (RFC 8037 §2): base64url of the same bytes. */
const fromRaw = (publicKey: string): KeyObject =>
  createPublicKey({
    format: 'jwk',
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'base64').toString('base64url') },
  })
