import { validate as isUuid } from 'uuid'
import { openHeadsFile } from './adapters/heads-file.ts'
import { openKeySet, readKeys } from './adapters/keys.ts'
import { openPool } from './adapters/postgres.ts'
import { acceptLosses, type Loss } from './engines/chain/verify/accept.ts'
import { systemChain } from './engines/chain/verify/finding.ts'
import { UnknownColumn } from './engines/chain/verify/row-shape.ts'
import { type Verified, type VerifyAsked, verifyAudit } from './engines/chain/verify/verify.ts'
import { writeAudit } from './kernel/audit.ts'
import { clientHere } from './kernel/client-here.ts'
import { inTransaction } from './kernel/db.ts'

export { describeLosses, describeVerified } from './engines/chain/verify/describe.ts'

/** What keeps an audit log from being verified, and its operator can mend. The message is one line. */
export class AuditFault extends Error {
  override name = 'AuditFault'
}

/** Keys that sign ends of chains: the files `audit-N.pem` of KEYS_DIR. */
export const headKeyPurpose = 'audit'

export interface AuditPlaces {
  /** of a user that may take the roles, as DATABASE_URL is */
  databaseUrl: string
  keysDir: string
}

/**
 * Checks the audit log of a database, running or not ({@link verifyAudit}), for a command on a server.
 *
 * @param asked `partner` may be `system`
 * @throws AuditFault, KeyError where the database, the keys or a file of heads cannot be read
 */
export async function verifyByCommand(
  { databaseUrl, keysDir }: AuditPlaces,
  asked: Omit<VerifyAsked, 'keys'>,
): Promise<Verified> {
  const pool = openPool({
    url: databaseUrl,
    role: 'svc_worker',
    max: 1,
    name: 'svc-audit',
    statementTimeoutMs: 0,
  })
  try {
    const partner = asked.partner === undefined ? undefined : chainOf(asked.partner)
    return await verifyAudit(pool, { ...asked, partner, keys: readKeys(keysDir, headKeyPurpose) })
  } catch (error) {
    throw faultOf(error)
  } finally {
    await pool.end({ timeout: 5 })
  }
}

function chainOf(partner: string): string {
  if (partner === 'system') return systemChain
  if (isUuid(partner)) return partner.toLowerCase()
  throw new AuditFault(`--partner: an id or \`system\`, not ${partner}`)
}

/** Of PostgreSQL: there is no such table, or no such role. */
const neverMigrated = ['42P01', '22023', '3F000']
const unreachable = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'CONNECT_TIMEOUT',
  'CONNECTION_ENDED',
  '28P01',
  '28000',
  '3D000',
]

function faultOf(error: unknown): unknown {
  const { code = '', path, message } = error as NodeJS.ErrnoException
  if (error instanceof UnknownColumn) return new AuditFault(error.message)
  if (neverMigrated.includes(code))
    return new AuditFault('the audit log of this database has no chains yet: start the server on it first')
  if (unreachable.includes(code)) return new AuditFault(`the database cannot be used: ${message}`)
  if (path !== undefined) return new AuditFault(`cannot read ${path}: ${message}`)
  return error
}

/**
 * Says to the heads of a database that was restored that what it lacks is lost ({@link acceptLosses}); the audit log says so, too.
 *
 * @param headsDir where the lines go; undefined: nowhere, they are for whoever keeps the log
 */
export async function acceptByCommand(
  { databaseUrl, keysDir }: AuditPlaces,
  { heads, headsDir }: { heads: readonly string[]; headsDir: string | undefined },
): Promise<{ lines: string; losses: Loss[] }> {
  const pool = openPool({ url: databaseUrl, max: 1, name: 'svc-audit', statementTimeoutMs: 0 })
  try {
    const key = openKeySet(keysDir, headKeyPurpose).current()
    const keys = readKeys(keysDir, headKeyPurpose)
    const done = await acceptLosses(pool, { heads, keys, key })
    if (done.losses.length === 0) return done
    if (headsDir !== undefined) await (await openHeadsFile(headsDir)).append(done.lines)
    const scope = { kind: 'system' } as const
    await inTransaction(pool, scope, async (db) => {
      db.later`set local role svc_app`
      writeAudit(db, {
        action: 'audit.loss.accept',
        result: 'success',
        actor: { type: 'system' },
        subject: {
          type: 'audit_chain',
          details: { chains: done.losses.slice(0, 100), count: done.losses.length },
        },
        client: clientHere('command'),
        scope,
        at: new Date(),
      })
    })
    return done
  } catch (error) {
    throw faultOf(error)
  } finally {
    await pool.end({ timeout: 5 })
  }
}
