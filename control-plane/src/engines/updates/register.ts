import { type Manifest, targetOf } from '@svc/proto'
import semver from 'semver'
import { v7 as uuid } from 'uuid'
import { plainArray, textArray } from '../../db/array-literal.ts'
import { ApiError } from '../../kernel/errors.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { TrustedRelease } from './trust.ts'

interface Known {
  /** the highest of all that are registered; 0: none is */
  newest: number
  /** the manifest registered for this version */
  manifest: Buffer | null
}

const findKnown = (db: Db, version: string) => db.one<Known>`
  select coalesce(max(r.sequence), 0) as newest, (select o.manifest from releases o where o.version = ${version}) as manifest
  from releases r`

/** Registrations come one after the other: each is judged by what the one before left. */
const lockReleases = (db: Db) => db.one`select pg_advisory_xact_lock(hashtext('svc.releases'))`

/** @throws ApiError CONFLICT for what is not newer than everything registered (no roll-back by an old manifest) */
export async function requireNewer(db: Db, { version, sequence }: Manifest): Promise<void> {
  const known = await findKnown(db, version)
  if (!known || known.manifest || sequence > known.newest) return
  throw new ApiError(
    'CONFLICT',
    `release ${version} has sequence ${sequence}, and ${known.newest} is registered already`,
    { details: [{ sequence, newest: known.newest }] },
  )
}

/**
 * Registers a release, in the caller's transaction; agents are offered it with their next heartbeats. Registering it again changes
 * nothing. A pre-release becomes nobody's latest, nor does what is older than the latest of its target.
 *
 * @returns its targets `<kind>:<os>/<arch>`
 * @throws ApiError CONFLICT when it is older than what is registered, ALREADY_EXISTS for another manifest of its version
 */
export async function registerRelease(db: Db, release: TrustedRelease): Promise<string[]> {
  const { manifest, bytes } = release
  await lockReleases(db)
  await requireNewer(db, manifest)
  const known = await findKnown(db, manifest.version)
  if (known?.manifest && !known.manifest.equals(bytes))
    throw new ApiError('ALREADY_EXISTS', `release ${manifest.version} is registered with another manifest`)
  if (!known?.manifest) await insertAll(db, release)
  return manifest.assets.map(targetOf)
}

async function insertAll(
  db: Db,
  { manifest, bytes, signature, keyId, addresses }: TrustedRelease,
): Promise<void> {
  const id = uuid()
  const { version, sequence, releasedAt, expiresAt, notes, assets } = manifest
  await db.run`
    insert into releases (id, version, sequence, released_at, expires_at, notes, manifest, signature, key_id)
    values (${id}, ${version}, ${sequence}, ${releasedAt}::timestamptz, ${expiresAt}::timestamptz, ${notes}, ${bytes},
      ${signature}, ${keyId})`
  await db.run`
    insert into release_assets (release_id, kind, os, arch, name, size, sha256, url)
    select ${id}::uuid, b.* from unnest(${plainArray(assets.map((asset) => asset.kind))}::text[],
      ${plainArray(assets.map((asset) => asset.os))}::text[], ${plainArray(assets.map((asset) => asset.arch))}::text[],
      ${textArray(assets.map((asset) => asset.name))}::text[], ${plainArray(assets.map((asset) => asset.size))}::bigint[],
      ${plainArray(assets.map((asset) => asset.sha256))}::text[], ${textArray(addresses)}::text[]) as b`
  if (semver.prerelease(version) === null) await makeLatest(db, id, manifest)
}

/** Takes over each target whose latest is older by version: a fix for an old line comes late, and is nobody's latest. */
async function makeLatest(db: Db, id: string, { version, assets }: Manifest): Promise<void> {
  const latest = await db.rows<{ kind: string; os: string; arch: string; version: string }>`
    select a.kind, a.os, a.arch, r.version from release_assets a join releases r on r.id = a.release_id where a.is_latest`
  const versions = new Map(latest.map((one) => [targetOf(one), one.version]))
  const taken = assets.map(targetOf).filter((target) => semver.lt(versions.get(target) ?? '0.0.0-0', version))
  const target = db.sql`a.kind || ':' || a.os || '/' || a.arch`
  await db.run`
    update release_assets a set is_latest = false where a.is_latest and ${target} = any(${textArray(taken)}::text[])`
  await db.run`
    update release_assets a set is_latest = true where a.release_id = ${id} and ${target} = any(${textArray(taken)}::text[])`
}
