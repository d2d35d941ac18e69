import { type Manifest, openManifest, type ReleaseAsset, type svc, targetOf } from '@svc/proto'
import semver from 'semver'
import type { KeyRing } from '../commands/key-ring.ts'
import type { UpdateReason } from './reasons.ts'

export type Offer = svc.v1.UpdateOffer.$Properties

/** What an offer is held against. */
export interface Standing {
  os: string
  arch: string
  /** of the component; what is no semantic version is older than any */
  version: string
  trusted: KeyRing
  /** the highest sequence of the component ever accepted */
  sequence: number
  /** the server's time, in milliseconds */
  now: number
}

export interface Proven {
  manifest: Manifest
  asset: ReleaseAsset
}

/**
 * What is offered, if this device may take it; else why not. Only the manifest is believed, and that only signed by a trusted key:
 * the offer says no more than where to look.
 */
export function prove(offer: Offer, standing: Standing): Proven | UpdateReason {
  const { os, arch, version, trusted, sequence, now } = standing
  const { component = '', manifest: bytes, signature, keyId } = offer
  const manifest = openManifest(
    bytes ?? new Uint8Array(),
    signature ?? new Uint8Array(),
    keyId ?? '',
    trusted,
  )
  if (typeof manifest === 'string') return manifest
  if (now >= Date.parse(manifest.expiresAt)) return 'expired'
  if (manifest.sequence < sequence) return 'older_sequence'
  const wanted = targetOf({ kind: component ?? '', os, arch })
  const asset = manifest.assets.find((one) => targetOf(one) === wanted)
  if (!asset) return 'wrong_target'
  return isNewer(manifest.version, version) ? { manifest, asset } : 'not_newer'
}

const isNewer = (version: string, than: string): boolean =>
  semver.valid(version) !== null && (semver.valid(than) === null || semver.gt(version, than))
