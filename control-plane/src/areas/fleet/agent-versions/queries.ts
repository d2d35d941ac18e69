import type { Page } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import type { AgentVersion, Target } from './schema.ts'

/** Releases are the same for everybody: there is no tenant in them. */
export const listReleases = (db: Db, page: Page) => db.rows<AgentVersion>`
  select r.id, r.version, r.sequence, r.released_at, r.expires_at, r.notes as release_notes, r.key_id as signing_key_id,
    r.created_at, a.is_latest, a.assets
  from releases r cross join lateral (
    select bool_or(a.is_latest) as is_latest, jsonb_agg(jsonb_build_object('component', a.kind, 'platform', a.os,
      'arch', a.arch, 'name', a.name, 'fileSize', a.size, 'checksum', a.sha256, 'isLatest', a.is_latest)
      order by a.kind, a.os, a.arch) as assets
    from release_assets a where a.release_id = r.id) a
  where true ${page.after('r')} order by r.created_at desc, r.id desc limit ${page.take}`

/** A file of a release, and what proves it. */
export interface Asset {
  kind: string
  os: string
  arch: string
  name: string
  size: number
  sha256: string
  url: string | null
  version: string
  sequence: number
  releasedAt: Date
  expiresAt: Date
  notes: string
  manifest: Buffer
  signature: Buffer
  keyId: string
}

/** @param version undefined: the latest of this target */
export const findAsset = (db: Db, { platform, arch, component }: Target, version?: string) => db.one<Asset>`
  select a.kind, a.os, a.arch, a.name, a.size, a.sha256, a.url, r.version, r.sequence, r.released_at, r.expires_at, r.notes,
    r.manifest, r.signature, r.key_id
  from release_assets a join releases r on r.id = a.release_id
  where a.kind = ${component} and a.os = ${platform} and a.arch = ${arch}
    and ${version === undefined ? db.sql`a.is_latest` : db.sql`r.version = ${version}`}`
