import { hostname } from 'node:os'
import { releaseKey } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import { localReleases } from './adapters/binaries.ts'
import { systemClock } from './adapters/clock.ts'
import { type Database, openPool } from './adapters/postgres.ts'
import { registerRelease, requireNewer } from './engines/updates/register.ts'
import { fetchTrusted, type TrustPorts } from './engines/updates/trust.ts'
import { writeAudit } from './kernel/audit.ts'
import type { AuditSubject } from './kernel/context.ts'
import { inTransaction, readerDb } from './kernel/db.ts'
import { setPlatformAdmin } from './seed.ts'

/** Whoever may run a command on the server may do everything; the audit log says that it was done there. */
const scope = { kind: 'system' } as const
const client = () => ({
  requestId: uuid(),
  ip: '127.0.0.1',
  userAgent: `command on ${hostname()}`,
  header: () => undefined,
  cookie: () => undefined,
  gone: new AbortController().signal,
})

/**
 * Registers a release as `POST /agent-versions/sync-github` does, for a command on the server.
 *
 * @param pool of svc_app, which alone may write to the audit log
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
      writeAudit(db, {
        action: 'user.platform_admin.set',
        result: 'success',
        actor: { type: 'system' },
        subject: { type: 'user', name: email.trim().toLowerCase(), details: { platformAdmin: admin } },
        client: client(),
        scope,
        at: new Date(),
      })
      return true
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
