import { ApiError } from '../../kernel/errors.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { type CommandSummary, type Ended, finishedEvent, summaryColumns } from './command.ts'
import { type CommandState, isFinal, step } from './states.ts'

/**
 * Takes a command back, in the caller's transaction: at once while it is queued; a device that has it is asked to stop, and what
 * becomes of it is what the device reports. Asking twice is no error. After the commit call `dispatch` for the device.
 * Undefined when the caller may not see it.
 * @throws ApiError CONFLICT `{from, to}` when it has ended
 */
export async function cancel(
  db: Db,
  deviceId: string,
  commandId: string,
): Promise<CommandSummary | undefined> {
  const found = await db.one<{ status: CommandState }>`
    select c.status from commands c
    where c.id = ${commandId}::uuid and c.device_id = ${deviceId}::uuid and ${db.visibleDevice('c', 'device_id')}
    for update`
  if (!found) return undefined
  const { status } = found
  if (isFinal(status)) {
    throw new ApiError('CONFLICT', `the command has ended: ${status}`, {
      details: [{ from: status, to: 'cancelled' }],
    })
  }
  const to = step(status, 'cancelled')
  const [row] = await db.rows<CommandSummary & Ended>`
    update commands c set cancel_requested_at = coalesce(c.cancel_requested_at, now()), lease_until = null,
      status = ${to ?? status}, finished_at = case when ${to !== undefined} then now() end
    where c.id = ${commandId}::uuid and ${db.visible('c')}
    returning ${summaryColumns(db)}, c.partner_id, c.org_id`
  if (row && to) emitAll(db, [finishedEvent(row)])
  return row
}

/**
 * Ends everything pending of devices that are being taken out of service, in that transaction. Returns the ids of what it ended.
 * @param why told with each
 */
export async function withdrawAll(db: Db, deviceIds: readonly string[], why: string): Promise<string[]> {
  const to = step('queued', 'withdrawn')
  const ended = await db.rows<Ended>`
    with pending as (
      select c.id from commands c
      where c.device_id = any (${[...deviceIds]}::uuid[]) and c.status in ('queued', 'delivered', 'running') and ${db.visible('c')}
      order by c.id for update)
    update commands c set status = ${to ?? null}, finished_at = now(), error = ${why}
    from pending p where c.id = p.id
    returning c.id, c.device_id, c.partner_id, c.org_id, c.type, c.status`
  emitAll(db, ended.map(finishedEvent))
  return ended.map((command) => command.id)
}
