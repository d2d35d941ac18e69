import type { SecurityLog } from '@svc/proto/log'
import type { Sql } from 'postgres'
import { writeAudit } from '../../kernel/audit.ts'
import { clientHere } from '../../kernel/client-here.ts'
import { inTransaction, type WorkerDb } from '../../kernel/db.ts'
import { passOverDue } from '../schedule/pass-over.ts'
import { askAgain } from '../work/ask-again.ts'
import {
  findEarlierLife,
  findLife,
  insertLife,
  lockLives,
  type Restored,
  restoredTo,
  takeUntold,
} from './rows.ts'

export interface LivesDeps {
  /** scope `system` */
  db: WorkerDb
  /** of svc_app, which notes that a life is told */
  app: Sql
  /** how long agents are asked what became of their commands */
  askMs: number
  security: SecurityLog
}

const system = { kind: 'system' } as const
/** Ids that are told. */
const most = 100

/**
 * The number of the present life of the database. One that nobody has seen before, but for the first, means that it was restored or that
 * a standby took its place: it lacks what happened last, of which devices, gateways and Redis still know. Then
 * - what devices had been given and not answered is offered to them again: their ledgers say what became of it, and do nothing twice;
 * - moments of schedules that have passed count as acted upon: once too seldom is better than twice;
 * - the operator is told, here and in the audit log.
 */
export async function noticeLife({ db, app, askMs, security }: LivesDeps): Promise<number> {
  const known = await findLife(db)
  if (known !== undefined) return known
  const { number, restored } = await db.tx(async (tx) => {
    await lockLives(tx)
    const seen = await findLife(tx)
    if (seen !== undefined) return { number: seen, restored: undefined }
    const earlier = await findEarlierLife(tx)
    if (!earlier) return { number: await insertLife(tx, null, {}), restored: undefined }
    const skipped = await passOverDue(tx)
    const details: Restored = {
      before: earlier.beganAt.toISOString(),
      restoredTo: await restoredTo(tx),
      asked: await askAgain(tx),
      skipped: skipped.slice(0, most),
      skippedCount: skipped.length,
    }
    return { number: await insertLife(tx, askMs, details), restored: details }
  })
  if (restored)
    security(
      'database.restored',
      'this is another life of the database: it was restored, or a standby took its place; agents are asked what they know',
      { life: number, ...restored },
    )
  await tell(app)
  return number
}

/** In a transaction of its own, since the roles differ; what a crash in between left out is told with the next life or start. */
async function tell(app: Sql): Promise<void> {
  await inTransaction(app, system, async (db) => {
    for (const { number, details } of await takeUntold(db))
      writeAudit(db, {
        action: 'database.restored',
        result: 'success',
        actor: { type: 'system' },
        subject: { type: 'database', name: String(number), details: { ...details } },
        client: clientHere('control plane'),
        scope: system,
        at: new Date(),
      })
  })
}
