import { signCommand } from '@svc/proto'
import { type KeyPair, type KeySet, openKeySet } from './keys.ts'

/** What agents are given at enrollment: they run nothing that none of these keys signed. */
export interface PublicSigningKey {
  keyId: string
  /** the raw 32 bytes (RFC 8032), base64 */
  publicKey: string
}

/** The keys that sign commands. */
export interface SigningKeys {
  /** Ed25519 over the command context and these bytes, which travel as they are. */
  sign(body: Uint8Array): { signature: Uint8Array; keyId: string }
  /** Newest first. */
  publicKeys(): PublicSigningKey[]
}

/** JWK's `x` is the raw public key (RFC 8037 §2). */
const rawPublicKey = ({ publicKey }: KeyPair) =>
  Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')

export const signingKeysOf = (keys: KeySet): SigningKeys => ({
  sign: (body) => {
    const { id, privateKey } = keys.current()
    return { signature: signCommand(body, privateKey), keyId: id }
  },
  publicKeys: () =>
    keys.all().map((pair) => ({ keyId: pair.id, publicKey: rawPublicKey(pair).toString('base64') })),
})

/** Opens the command-signing keys in KEYS_DIR. @throws KeyError */
export const openSigningKeys = (dir: string): SigningKeys => signingKeysOf(openKeySet(dir, 'commands'))
