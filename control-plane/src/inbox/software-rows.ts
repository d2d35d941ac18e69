import type { svc } from '@svc/proto'
import { plainArray, textArray } from '../db/array-literal.ts'
import type { Db } from '../kernel/tenancy.ts'
import { type Row, text } from './inventory-values.ts'

/** Most packages that are kept of one device. */
const maxPackages = 20_000
/** Packages of one statement; of more devices than these make, the rest is for the next one. */
const atOnce = 10_000
const dayMs = 86_400_000

interface PackageRow {
  deviceId: string
  partnerId: string
  orgId: string
  name: string
  source: string
  architecture: string
  instance: number
  version: string
  vendor: string | null
  installedAt: number | null
  reportedAt: number
}

/** A clock that was wrong when it was installed says nothing. */
const installed = (ms: number | null | undefined, row: Row) =>
  ms && ms > 0 && ms < row.collectedAtMs + dayMs ? ms / 1000 : null

function packageOf(row: Row, said: svc.v1.IPackage): PackageRow[] {
  const name = text(said.name)
  if (name === null) return []
  const { deviceId, partnerId, orgId, collectedAtMs } = row
  return [
    {
      deviceId,
      partnerId,
      orgId,
      name,
      source: text(said.source, 32) ?? '',
      architecture: text(said.architecture, 32) ?? '',
      instance: 0,
      version: text(said.version, 128) ?? '',
      vendor: text(said.vendor),
      installedAt: installed(said.installedAtMs, row),
      reportedAt: collectedAtMs / 1000,
    },
  ]
}

/** The packages of one device. Several versions of one are numbered in the order of their text; the same one twice is one. */
function packagesOf(row: Row): PackageRow[] {
  const named = new Map<string, Map<string, PackageRow>>()
  for (const said of (row.payload.software?.packages ?? []).slice(0, maxPackages))
    for (const one of packageOf(row, said)) {
      const key = [one.name, one.source, one.architecture].join('\0')
      named.set(key, (named.get(key) ?? new Map<string, PackageRow>()).set(one.version, one))
    }
  return [...named.values()].flatMap((versions) =>
    versions.size === 1
      ? [...versions.values()]
      : [...versions.values()]
          .sort((a, b) => (a.version < b.version ? -1 : 1))
          .map((one, instance) => ({ ...one, instance })),
  )
}

/** Makes each device's software what was said: only what differs is written, be it one of ten thousand. */
export async function writeSoftware(db: Db, rows: readonly Row[]): Promise<void> {
  let [ids, packages]: [string[], PackageRow[]] = [[], []]
  for (const row of rows) {
    ids.push(row.deviceId)
    packages.push(...packagesOf(row))
    if (packages.length < atOnce) continue
    await write(db, ids, packages)
    ;[ids, packages] = [[], []]
  }
  if (ids.length > 0) await write(db, ids, packages)
}

async function write(db: Db, deviceIds: readonly string[], all: readonly PackageRow[]): Promise<void> {
  await db.run`
    with said as materialized (
      select device_id, partner_id, org_id, name, source, architecture, instance, version, vendor,
        to_timestamp(installed) as installed_at, to_timestamp(reported) as reported_at
      from unnest(${plainArray(all.map((r) => r.deviceId))}::uuid[], ${plainArray(all.map((r) => r.partnerId))}::uuid[],
        ${plainArray(all.map((r) => r.orgId))}::uuid[], ${textArray(all.map((r) => r.name))}::text[],
        ${textArray(all.map((r) => r.source))}::text[], ${textArray(all.map((r) => r.architecture))}::text[],
        ${plainArray(all.map((r) => r.instance))}::smallint[], ${textArray(all.map((r) => r.version))}::text[],
        ${textArray(all.map((r) => r.vendor))}::text[], ${plainArray(all.map((r) => r.installedAt))}::float8[],
        ${plainArray(all.map((r) => r.reportedAt))}::float8[])
        as s (device_id, partner_id, org_id, name, source, architecture, instance, version, vendor, installed, reported)),
    known as materialized (
      select d.* from device_software d where d.device_id = any(${plainArray(deviceIds)}::uuid[])),
    gone as (
      delete from device_software d using (
        select k.device_id, k.name, k.source, k.architecture, k.instance from known k
        left join said s using (device_id, name, source, architecture, instance) where s.name is null) g
      where (d.device_id, d.name, d.source, d.architecture, d.instance)
        = (g.device_id, g.name, g.source, g.architecture, g.instance))
    insert into device_software (device_id, partner_id, org_id, name, source, architecture, instance, version, vendor,
      installed_at, reported_at)
    select s.device_id, s.partner_id, s.org_id, s.name, s.source, s.architecture, s.instance, s.version, s.vendor,
      s.installed_at, s.reported_at
    from said s left join known k using (device_id, name, source, architecture, instance)
    where k.name is null or (k.version, k.vendor, k.installed_at) is distinct from (s.version, s.vendor, s.installed_at)
    on conflict (device_id, name, source, architecture, instance) do update set version = excluded.version,
      vendor = excluded.vendor, installed_at = excluded.installed_at, reported_at = excluded.reported_at`
}
