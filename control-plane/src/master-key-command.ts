import type { AuditSubject } from './kernel/context.ts'
import { inTransaction } from './kernel/db.ts'
import { openPool } from './adapters/postgres.ts'
import { announceKey, retireKey, standing, useKey } from './engines/secrets/rotation.ts'
import { retiresAfter } from './engines/secrets/register.ts'
import type { Db } from './kernel/tenancy.ts'
import { auditCommand, scope } from './server-command.ts'

/** By the schema's owner: what runs all the time may add its first key and no more. */
async function asOwner<T>(databaseUrl: string, work: (db: Db) => Promise<T>): Promise<T> {
  const sql = openPool({ url: databaseUrl, max: 1, name: 'svc-command' })
  try {
    return await inTransaction(sql, scope, async (db) => {
      db.later`set local role svc_owner`
      return await work(db)
    })
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const audited = (db: Db, action: string, id: string, details: AuditSubject['details']) => {
  db.later`set local role svc_app`
  auditCommand(db, action, { type: 'master_key', name: id, ...(details && { details }) })
}

/**
 * What `svc-admin master-key` does; each answers with what its operator reads.
 *
 * @throws RotationError, KeyError: one line each
 */
export const masterKeyCommands = {
  /** Keys, what is under them, and who has them. */
  show: (databaseUrl: string) =>
    asOwner(databaseUrl, async (db) => {
      const { keys, processes } = await standing(db)
      const lines = keys.map(({ keyId, state, since, sealed, held, used }) => {
        const values = Object.entries(sealed).map(([place, n]) => `${place} ${n}`)
        const at = since.toISOString()
        return `${keyId} ${state} since ${at}: ${values.join(', ') || 'nothing is under it'}; ${held} of ${processes} running processes have it, ${used} seal under it`
      })
      return lines.join('\n') || 'this database has no master key yet'
    }),

  add: (databaseUrl: string, dir: string) =>
    asOwner(databaseUrl, async (db) => {
      const { keyId, file } = await announceKey(db, dir)
      audited(db, 'master_key.add', keyId, undefined)
      return `${keyId} is announced. Copy ${dir}/${file} to KEYS_DIR of every machine, and back it up; then: svc-admin master-key use`
    }),

  use: (databaseUrl: string) =>
    asOwner(databaseUrl, async (db) => {
      const { sealing, retiring } = await useKey(db)
      audited(db, 'master_key.use', sealing, { retiring })
      return `${sealing} seals. What is under ${retiring} is sealed anew by the workers: svc-admin master-key show. In ${retiresAfter}: svc-admin master-key retire`
    }),

  retire: (databaseUrl: string) =>
    asOwner(databaseUrl, async (db) => {
      const { keyId, retiringSince } = await retireKey(db)
      audited(db, 'master_key.retire', keyId, undefined)
      return `${keyId} is needed no more. Take its file out of KEYS_DIR everywhere, and keep it with the backups that need it: those that hold anything from before its last value was sealed anew, at the latest now (it stopped sealing at ${retiringSince.toISOString()})`
    }),
} as const
