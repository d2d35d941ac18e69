import { createHash, type KeyObject } from 'node:crypto'
import { type Manifest, openManifest, targetOf } from '@svc/proto'
import { type FoundRelease, type ReleaseSource, SourceFailed } from '../../adapters/releases.ts'
import { ApiError } from '../../kernel/errors.ts'

/** A release whose manifest a trusted key signed, and each of whose assets is what the manifest says. */
export interface TrustedRelease {
  manifest: Manifest
  bytes: Uint8Array
  signature: Uint8Array
  keyId: string
  /** in the order of the manifest's assets: where they are; null: with us */
  addresses: (string | null)[]
}

/** A slow host must answer within what a caller of the API waits. */
const withinMs = 50_000
/** Assets that are read at the same time. */
const atOnce = 4

export interface TrustPorts {
  releases: ReleaseSource
  config: { releaseKeys: readonly { keyId: string; key: KeyObject }[] }
  clock: { now(): Date }
}

const untrusted = (reason: string, message: string, asset?: string) =>
  new ApiError('RELEASE_UNTRUSTED', message, { details: [{ reason, ...(asset && { asset }) }] })

/**
 * Fetches a release and believes nothing of it that is not proven: the manifest by its signature, every asset by size and hash.
 *
 * @param version undefined: the newest that is no pre-release
 * @param acceptable called once the manifest is known to be good, before the assets are read: throws what speaks against it
 * @returns undefined when the source has no such release
 * @throws ApiError RELEASE_UNTRUSTED, RELEASE_HOST_FAILED
 */
export async function fetchTrusted(
  ports: TrustPorts,
  version: string | undefined,
  acceptable: (manifest: Manifest) => Promise<void>,
): Promise<TrustedRelease | undefined> {
  const signal = AbortSignal.timeout(withinMs)
  try {
    const found = await ports.releases.find(version, signal)
    if (!found) return undefined
    const manifest = openTrusted(ports, found, version)
    await acceptable(manifest)
    await checkAssets(found, manifest, signal)
    const addresses = manifest.assets.map(({ name }) => found.address(name))
    const { manifest: bytes, signature, keyId } = found
    return { manifest, bytes, signature, keyId, addresses }
  } catch (error) {
    const late = signal.aborted && !(error instanceof ApiError)
    if (!late && !(error instanceof SourceFailed)) throw error
    const message = late ? `the release was not read within ${withinMs / 1_000} s` : (error as Error).message
    throw new ApiError('RELEASE_HOST_FAILED', message, { cause: error })
  }
}

function openTrusted(
  { config, clock }: TrustPorts,
  found: FoundRelease,
  wanted: string | undefined,
): Manifest {
  const trusted = new Map(config.releaseKeys.map(({ keyId, key }) => [keyId, key]))
  const manifest = openManifest(found.manifest, found.signature, found.keyId, trusted)
  if (typeof manifest === 'string')
    throw untrusted(manifest, 'the manifest is not one that a trusted key signed')
  if (manifest.version !== found.version || (wanted !== undefined && wanted !== manifest.version))
    throw untrusted(
      'wrong_version',
      `the manifest is of ${manifest.version}, not of ${wanted ?? found.version}`,
    )
  if (new Date(manifest.expiresAt) <= clock.now())
    throw untrusted('expired', `the manifest expired ${manifest.expiresAt}`)
  return manifest
}

async function checkAssets(found: FoundRelease, { assets }: Manifest, signal: AbortSignal): Promise<void> {
  const waiting = [...assets]
  const work = async () => {
    for (let asset = waiting.shift(); asset; asset = waiting.shift()) await checkAsset(found, asset, signal)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

async function checkAsset(
  found: FoundRelease,
  asset: Manifest['assets'][number],
  signal: AbortSignal,
): Promise<void> {
  const { name, size, sha256 } = asset
  const body = await found.read(name, size, signal)
  if (!body) throw untrusted('asset_missing', `there is no ${name}`, targetOf(asset))
  const hash = createHash('sha256')
  let read = 0
  for await (const chunk of body) {
    read += chunk.length
    hash.update(chunk)
  }
  if (read !== size)
    throw untrusted('wrong_size', `${name} has not the ${size} bytes that it is to have`, targetOf(asset))
  if (hash.digest('hex') !== sha256)
    throw untrusted('wrong_hash', `${name} is not what was signed`, targetOf(asset))
}
