import type { Readable } from 'node:stream'

/** One release as its source has it: nothing of it is believed yet. */
export interface FoundRelease {
  /** without the leading `v` of its tag */
  version: string
  manifest: Uint8Array
  keyId: string
  signature: Uint8Array
  /** The bytes of an asset, at most `size` + 1 of them; undefined: there is none of this name. @throws SourceFailed, also while read */
  read(name: string, size: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Where whoever downloads it finds the asset; null: with us. */
  address(name: string): string | null
}

/** Where releases come from (BINARY_SOURCE). */
export interface ReleaseSource {
  /** The newest that is no pre-release, or the one named; undefined: there is none. @throws SourceFailed */
  find(version: string | undefined, signal: AbortSignal): Promise<FoundRelease | undefined>
  /** Bytes of a registered asset that lies with us. @throws SourceFailed when they are gone or not as many as they were */
  open(asset: { version: string; name: string; size: number }, start: number, end: number): Promise<Readable>
}

/** The source is away, too slow, or says what cannot be. The message is for people. */
export class SourceFailed extends Error {
  override name = 'SourceFailed'
}

/** What stands in `manifest.json.sig`. @throws SourceFailed */
export function readSignature(text: string): { keyId: string; signature: Uint8Array } {
  try {
    const { keyId, signature } = JSON.parse(text) as Record<string, unknown>
    if (typeof keyId === 'string' && typeof signature === 'string')
      return { keyId, signature: Buffer.from(signature, 'base64') }
  } catch {
    // Told below: it is no JSON.
  }
  throw new SourceFailed(`${signatureName} is not {"keyId", "signature"}`)
}

export const manifestName = 'manifest.json'
export const signatureName = 'manifest.json.sig'
/** JSON of a key id and 64 bytes. */
export const maxSignatureBytes = 4_096
