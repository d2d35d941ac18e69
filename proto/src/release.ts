import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { z } from 'zod'

/** Domain separation: a release signature is good for nothing else. */
const context = Buffer.from('svc.release.v1\0')

/** What is released, and for what. `darwin` is called `macos` everywhere but in download addresses. */
export const releaseKinds = ['agent', 'helper'] as const
export const releaseSystems = ['linux', 'macos', 'windows'] as const
export const releaseArchitectures = ['amd64', 'arm64'] as const

/** No agent downloads more than this. */
export const maxAssetBytes = 500 * 1024 * 1024
/** A manifest is read whole before anything in it is believed. */
export const maxManifestBytes = 256 * 1024

/** `<kind>:<os>/<arch>` (interface §Agents and versions). */
export const targetOf = ({ kind, os, arch }: { kind: string; os: string; arch: string }): string =>
  `${kind}:${os}/${arch}`

const Asset = z.strictObject({
  kind: z.enum(releaseKinds),
  os: z.enum(releaseSystems),
  arch: z.enum(releaseArchitectures),
  name: z.string().regex(/^[\w.-]{1,128}$/),
  size: z.int().min(1).max(maxAssetBytes),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})

/**
 * The signed description of one release. `sequence` rises with each release: a component is never taken to a lower one than was seen
 * for it (no roll-back by a replayed manifest), and to none after `expiresAt` (no freeze).
 */
export const Manifest = z
  .strictObject({
    format: z.literal('svc.release.v1'),
    version: z.string().regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]{1,40})?$/),
    sequence: z.int().min(1),
    releasedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    notes: z.string().max(10_000).default(''),
    assets: z.array(Asset).min(1).max(64),
  })
  .refine(({ assets }) => new Set(assets.map(targetOf)).size === assets.length, 'names one target twice')

export type Manifest = z.output<typeof Manifest>
export type ReleaseAsset = Manifest['assets'][number]

/** Ed25519 over the context and the manifest's bytes as they travel (RFC 8032). */
export const signManifest = (manifest: Uint8Array, key: KeyObject): Buffer =>
  sign(null, Buffer.concat([context, manifest]), key)

/** A release key goes by the first 16 hex digits of the SHA-256 of its 32 bytes. */
export const releaseKeyId = (publicKey: Uint8Array): string =>
  createHash('sha256').update(publicKey).digest('hex').slice(0, 16)

/** A public key whose 32 bytes are written in base64. Throws when they are not 32. */
export function releaseKey(base64: string): { keyId: string; key: KeyObject } {
  const raw = Buffer.from(base64, 'base64')
  if (raw.length !== 32) throw new Error('a release key has 32 bytes')
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }
  return { keyId: releaseKeyId(raw), key: createPublicKey({ key: jwk, format: 'jwk' }) }
}

export type ManifestFault = 'manifest_too_large' | 'unknown_key' | 'bad_signature' | 'bad_manifest'

/**
 * The manifest, if one of the trusted keys signed these very bytes; else what is wrong. Expiry and sequence are for the caller, who
 * knows the time and what was seen before.
 */
export function openManifest(
  bytes: Uint8Array,
  signature: Uint8Array,
  keyId: string,
  trusted: ReadonlyMap<string, KeyObject>,
): Manifest | ManifestFault {
  if (bytes.length > maxManifestBytes) return 'manifest_too_large'
  const key = trusted.get(keyId)
  if (!key) return 'unknown_key'
  const good = signature.length === 64 && verify(null, Buffer.concat([context, bytes]), key, signature)
  if (!good) return 'bad_signature'
  try {
    return Manifest.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch {
    return 'bad_manifest'
  }
}
