import type { WorkerDb } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { stillAsked } from './ask-again.ts'
import { type Ended, finishedEvent } from './command.ts'
import { type CommandState, type CommandTrigger, step } from './states.ts'

/** Rows per transaction: an outage's worth of expiries must not be one lock. */
const chunk = 500

/**
 * Ends what has had its time (promise P4). `told` hears of each transaction's worth once it stands.
 * - queued past `expires_at`: expired. One that was offered a moment before gets its lease's time to be acknowledged.
 * - delivered or running past `deadline_at`: timed out.
 */
export async function sweepCommands(db: WorkerDb, told: Told): Promise<void> {
  await inChunks(db, expireQueued, told)
  await inChunks(db, endOverdue, told)
}

type Told = (ended: readonly Ended[]) => Promise<void>

async function inChunks(db: WorkerDb, sweep: (tx: Db) => Promise<Ended[]>, told: Told): Promise<void> {
  for (;;) {
    const ended = await db.tx(async (tx) => {
      const rows = await sweep(tx)
      emitAll(tx, rows.map(finishedEvent))
      return rows
    })
    if (ended.length > 0) await told(ended)
    if (ended.length < chunk) return
  }
}

/** What the table of states says becomes of it. */
function endOf(from: CommandState, trigger: CommandTrigger): CommandState {
  const to = step(from, trigger)
  if (!to) throw new Error(`a command that is ${from} does not end as ${trigger}`)
  return to
}

const expireQueued = (tx: Db): Promise<Ended[]> => tx.rows<Ended>`
  update commands c set status = ${endOf('queued', 'lapsed')}, finished_at = now(),
    error = 'not started before it expired'
  where c.id in (select q.id from commands q where q.status = 'queued' and q.expires_at < now()
      and (q.lease_until is null or q.lease_until < now()) and not ${stillAsked(tx, 'q')}
    order by q.expires_at limit ${chunk} for update skip locked)
  returning c.id, c.device_id, c.partner_id, c.org_id, c.type, c.status`

const endOverdue = (tx: Db): Promise<Ended[]> => tx.rows<Ended>`
  update commands c set status = ${endOf('running', 'overdue')}, finished_at = now(),
    error = 'no result from the device within its time'
  where c.id in (select q.id from commands q where q.status in ('delivered', 'running') and q.deadline_at < now()
    order by q.deadline_at limit ${chunk} for update skip locked)
  returning c.id, c.device_id, c.partner_id, c.org_id, c.type, c.status`
