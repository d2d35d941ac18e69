import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { releaseKeyId } from '@svc/proto'
import { buildRelease, signed } from '../../../tools/release/build.ts'
import { rawPublicKey } from '../../../tools/release/keys.ts'
import type { SigningKey } from '../../src/commands/key-ring.ts'
import type { Offer } from '../../src/update/prove.ts'

export const releaseKey: KeyObject = generateKeyPairSync('ed25519').privateKey

/** As enrollment tells it. */
export const publicKeyOf = (key: KeyObject = releaseKey): SigningKey => ({
  keyId: releaseKeyId(rawPublicKey(key)),
  publicKey: rawPublicKey(key).toString('base64'),
})

const dayMs = 86_400_000

export interface OfferInput {
  version: string
  bytes: Uint8Array
  sequence?: number
  key?: KeyObject
  expiresAt?: Date
  url?: string
}

/** An offer, right in everything but what is given. */
export function offerOf({
  version,
  bytes,
  sequence = 1,
  key = releaseKey,
  expiresAt,
  url,
}: OfferInput): Offer {
  const release = releaseOf({ version, bytes, sequence, key, ...(expiresAt && { expiresAt }) })
  const { manifest, manifestBytes, signature } = release
  return {
    component: 'agent',
    version,
    url: url ?? '/agent',
    size: bytes.length,
    sha256: Buffer.from(manifest.assets[0]?.sha256 ?? '', 'hex'),
    manifest: manifestBytes,
    signature: Buffer.from(signature.signature, 'base64'),
    keyId: signature.keyId,
    sequence,
    expiresAtMs: Date.parse(manifest.expiresAt),
  }
}

function releaseOf({ version, bytes, sequence = 1, key = releaseKey, expiresAt }: OfferInput) {
  const now = Date.now()
  return buildRelease({
    version,
    sequence,
    key,
    releasedAt: new Date(now - 60 * dayMs),
    expiresAt: expiresAt ?? new Date(now + 30 * dayMs),
    files: { agent: bytes, helper: bytes },
  })
}

/** The same offer over other bytes of the manifest, signed as they are. */
export const resigned = (offer: Offer, manifest: object, key: KeyObject = releaseKey): Offer => {
  const bytes = Buffer.from(JSON.stringify(manifest))
  const { keyId, signature } = signed(bytes, key)
  return { ...offer, manifest: bytes, keyId, signature: Buffer.from(signature, 'base64') }
}
