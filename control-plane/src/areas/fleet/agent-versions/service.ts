import { addressOf } from '../../../engines/updates/address.ts'
import { registerRelease, requireNewer } from '../../../engines/updates/register.ts'
import { fetchTrusted, type TrustedRelease } from '../../../engines/updates/trust.ts'
import { tellReleases } from '../../../engines/work/hints.ts'
import type { Ctx } from '../../../kernel/context.ts'
import { SourceFailed } from '../../../adapters/releases.ts'
import type { Download } from '../../../kernel/download.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Ports } from '../../../kernel/ports.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { type Asset, findAsset } from './queries.ts'
import type { LatestVersion, SyncQuery, Synced, Target } from './schema.ts'

/** undefined (404) where no release has a file for this target. */
export async function latestVersion({
  db,
  query,
  ports,
}: Ctx<Record<string, never>, Target>): Promise<LatestVersion | undefined> {
  const asset = await findAsset(db, query)
  return asset && describe(asset, ports)
}

function describe(asset: Asset, { config }: Pick<Ports, 'config'>): LatestVersion {
  const { version, sequence, releasedAt, expiresAt, name } = asset
  return {
    version,
    sequence,
    releasedAt,
    expiresAt,
    name,
    component: asset.kind as LatestVersion['component'],
    platform: asset.os as LatestVersion['platform'],
    arch: asset.arch as LatestVersion['arch'],
    fileSize: asset.size,
    checksum: asset.sha256,
    releaseNotes: asset.notes,
    downloadUrl: new URL(addressOf(asset), config.publicUrl).href,
    manifest: asset.manifest.toString('utf8'),
    manifestSignature: asset.signature.toString('base64'),
    signingKeyId: asset.keyId,
  }
}

/**
 * The bytes of one file of a release, or where on the release host they are.
 *
 * @param version undefined: the latest of this target
 * @throws ApiError RELEASE_HOST_FAILED when what is to be here is not
 */
export async function downloadOf(
  db: Db,
  ports: Pick<Ports, 'releases'>,
  target: Target,
  version: string | undefined,
): Promise<Download | undefined> {
  const asset = await findAsset(db, target, version)
  if (!asset) return undefined
  const { url, name, size, sha256 } = asset
  if (url !== null) return { redirect: url }
  const open = async (start: number, end: number) => {
    try {
      return await ports.releases.open(asset, start, end)
    } catch (error) {
      if (!(error instanceof SourceFailed)) throw error
      throw new ApiError('RELEASE_HOST_FAILED', error.message, { cause: error })
    }
  }
  return { name, size, sha256, open }
}

type SyncCtx = Ctx<Record<string, never>, SyncQuery>

/** Fetches and proves the release, before there is a transaction. @throws ApiError, see {@link fetchTrusted}; CONFLICT */
export const fetchRelease = ({ db, query, ports }: SyncCtx): Promise<TrustedRelease | undefined> =>
  fetchTrusted(ports, query.version, (manifest) => requireNewer(db, manifest))

/** Registers what {@link fetchRelease} found; agents pick it up on their next heartbeat (interface §Versioning 7). */
export async function sync(ctx: SyncCtx, release: TrustedRelease | undefined): Promise<Synced | undefined> {
  if (!release) return undefined
  const { version, sequence } = release.manifest
  const synced = await registerRelease(ctx.db, release)
  ctx.audited({ type: 'agent_version', name: version, details: { sequence, synced } })
  ctx.after(() => tellReleases(ctx.ports.bus))
  return { version, synced }
}
