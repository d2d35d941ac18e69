import { createHash, type KeyObject } from 'node:crypto'
import {
  Manifest,
  releaseArchitectures,
  type ReleaseAsset,
  releaseKeyId,
  releaseKinds,
  releaseSystems,
  signManifest,
} from '@svc/proto'
import { rawPublicKey } from './keys.ts'

type Kind = (typeof releaseKinds)[number]
export interface Target {
  os: (typeof releaseSystems)[number]
  arch: (typeof releaseArchitectures)[number]
}

/** Every `os/arch` that there are releases for. */
export const allTargets: readonly Target[] = releaseSystems.flatMap((os) =>
  releaseArchitectures.map((arch) => ({ os, arch })),
)

export interface ReleaseInput {
  version: string
  /** rises with each release */
  sequence: number
  key: KeyObject
  releasedAt: Date
  expiresAt: Date
  /** the bytes of each kind; the same for each target */
  files: Partial<Record<Kind, Uint8Array>>
  /** default: all */
  targets?: readonly Target[]
  notes?: string
}

/** A signed release in memory. `signature` is what stands in `manifest.json.sig`. */
export interface Release {
  manifest: Manifest
  manifestBytes: Uint8Array
  signature: { keyId: string; signature: string }
  assets: { name: string; bytes: Uint8Array }[]
}

/** Signs a manifest's bytes as they are, right or wrong: what a hostile test wants, too. */
export const signed = (bytes: Uint8Array, key: KeyObject): Release['signature'] => ({
  keyId: releaseKeyId(rawPublicKey(key)),
  signature: signManifest(bytes, key).toString('base64'),
})

/** Manifest, signature and assets of a release. The same input gives the same bytes. @throws ZodError for what no agent would take */
export function buildRelease(input: ReleaseInput): Release {
  const { version, sequence, key, releasedAt, expiresAt, files, targets = allTargets, notes = '' } = input
  const assets = releaseKinds.flatMap((kind) => {
    const bytes = files[kind]
    return bytes ? targets.map((target) => asset(version, kind, target, bytes)) : []
  })
  const manifest = Manifest.parse({
    format: 'svc.release.v1',
    version,
    sequence,
    releasedAt: releasedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    notes,
    assets: assets.map(({ described }) => described),
  })
  const manifestBytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  return {
    manifest,
    manifestBytes,
    signature: signed(manifestBytes, key),
    assets: assets.map(({ described: { name }, bytes }) => ({ name, bytes })),
  }
}

function asset(version: string, kind: Kind, { os, arch }: Target, bytes: Uint8Array) {
  const described: ReleaseAsset = {
    kind,
    os,
    arch,
    name: `svc-${kind}-${version}-${os}-${arch}`,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  return { described, bytes }
}
