import { releaseKey } from '@svc/proto'
import { localReleases } from './adapters/binaries.ts'
import { systemClock } from './adapters/clock.ts'
import { type Database, openPool } from './adapters/postgres.ts'
import { registerRelease, requireNewer } from './engines/updates/register.ts'
import { fetchTrusted, type TrustPorts } from './engines/updates/trust.ts'
import { writeAudit } from './kernel/audit.ts'
import { clientHere } from './kernel/client-here.ts'
import type { AuditSubject } from './kernel/context.ts'
import { inTransaction, readerDb } from './kernel/db.ts'
import type { Db } from './kernel/tenancy.ts'
import { type Demo, type DemoNames, seedDemo, type SeedPorts, setPlatformAdmin } from './seed.ts'

/** Whoever may run a command on the server may do everything; the audit log says that it was done there. */
export const scope = { kind: 'system' } as const
const client = () => clientHere('command')

/** Written in the transaction of what was done, by role svc_app. */
export function auditCommand(db: Db, action: string, subject: AuditSubject): void {
  const actor = { type: 'system' } as const
  writeAudit(db, { action, result: 'success', actor, subject, client: client(), scope, at: new Date() })
}

/**
 * Registers a release as `POST /agent-versions/sync-github` does, for a command on the server.
 *
 * @param pool of svc_app, which the commands of operators run as
 * @returns version and targets; undefined when the source has no such release
 * @throws ApiError as that endpoint does
 */
export async function registerByCommand(
  pool: Database,
  ports: TrustPorts,
  version: string | undefined,
): Promise<{ version: string; synced: string[] } | undefined> {
  const reader = readerDb(pool, scope)
  const release = await fetchTrusted(ports, version, (manifest) => requireNewer(reader, manifest))
  if (!release) return undefined
  const { manifest } = release
  return inTransaction(pool, scope, async (db) => {
    const synced = await registerRelease(db, release)
    const details = { sequence: manifest.sequence, synced }
    const subject: AuditSubject = { type: 'agent_version', name: manifest.version, details }
    writeAudit(db, {
      action: 'agent_version.sync',
      result: 'success',
      actor: { type: 'system' },
      subject,
      client: client(),
      scope,
      at: ports.clock.now(),
    })
    return { version: manifest.version, synced }
  })
}

/**
 * Makes a partner as {@link seedDemo} does, for a command on the server: nobody's request, so the log says where it was done.
 *
 * @param databaseUrl of a user that may take the roles, as DATABASE_URL is
 * @returns without secrets when there is a partner of that slug already: then nothing was done
 */
export async function createPartnerByCommand(
  databaseUrl: string,
  ports: SeedPorts,
  names: DemoNames,
): Promise<Demo> {
  const sql = openPool({ url: databaseUrl, max: 1, name: 'svc-command' })
  const tx = <T>(work: (db: Db) => Promise<T>) =>
    inTransaction(sql, scope, (db) => {
      db.later`set local role svc_worker`
      return work(db)
    })
  try {
    return await seedDemo({ ...readerDb(sql, scope), tx }, ports, names, ({ partnerId, email }, db) => {
      db.later`set local role svc_app`
      writeAudit(db, {
        action: 'partner.create',
        result: 'success',
        actor: { type: 'system' },
        subject: {
          type: 'partner',
          id: partnerId,
          partnerId,
          ...(names.partnerName !== undefined && { name: names.partnerName }),
          details: { administrator: email },
        },
        client: client(),
        scope,
        at: ports.clock.now(),
      })
    })
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * Makes a user administrator of the platform, or takes that back: the one way there is. Known to a running server within seconds.
 *
 * @param databaseUrl of a user that may take the roles, as DATABASE_URL is
 * @returns false when there is no such user
 */
export async function platformAdminByCommand(
  databaseUrl: string,
  email: string,
  admin: boolean,
): Promise<boolean> {
  const sql = openPool({ url: databaseUrl, max: 1, name: 'svc-command' })
  try {
    return await inTransaction(sql, scope, async (db) => {
      db.later`set local role svc_worker`
      const known = await setPlatformAdmin({ tx: (work) => work(db) }, email, admin)
      if (!known) return false
      db.later`set local role svc_app`
      const name = email.trim().toLowerCase()
      auditCommand(db, 'user.platform_admin.set', { type: 'user', name, details: { platformAdmin: admin } })
      return true
    })
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * Passwords count again in an organization whose identity provider lets nobody in: the way back that needs no login.
 *
 * @param databaseUrl as of {@link platformAdminByCommand}
 * @returns false when the organization demands no single sign-on
 */
export async function releaseSsoByCommand(databaseUrl: string, orgId: string): Promise<boolean> {
  const sql = openPool({ url: databaseUrl, max: 1, name: 'svc-command' })
  try {
    return await inTransaction(sql, scope, async (db) => {
      db.later`set local role svc_worker`
      const released = await db.rows<{ id: string; name: string; partnerId: string }>`
        update sso_providers p set enforce_sso = false, updated_at = now() where p.org_id = ${orgId} and p.enforce_sso
        returning p.id, p.name, p.partner_id`
      db.later`set local role svc_app`
      for (const { id, name, partnerId } of released) {
        writeAudit(db, {
          action: 'sso.enforcement.released',
          result: 'success',
          actor: { type: 'system' },
          subject: { type: 'sso_provider', id, name, partnerId, orgId },
          client: client(),
          scope,
          at: new Date(),
        })
      }
      return released.length > 0
    })
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * {@link registerByCommand} for a process in which no server runs: a release of a folder, for the server of a database.
 *
 * @param publicKey the key that signed it, base64
 */
export async function registerFromFolder(
  databaseUrl: string,
  folder: string,
  publicKey: string,
  version: string,
): ReturnType<typeof registerByCommand> {
  const config = { releaseKeys: [releaseKey(publicKey)] }
  const ports = { releases: localReleases(folder), config, clock: systemClock }
  const pool = openPool({ url: databaseUrl, role: 'svc_app', max: 2, name: 'svc-command' })
  try {
    return await registerByCommand(pool, ports, version)
  } finally {
    await pool.end({ timeout: 5 })
  }
}
