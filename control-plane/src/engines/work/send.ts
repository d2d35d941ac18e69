import { databaseNow } from '../schedule/database-now.ts'
import { type CommandType, type CommandTypeName, commandTypes, expiresAfterMs, timeoutOf } from '@svc/proto'
import { type Trace, writeTraceparent } from '@svc/proto/trace'
import { v7 as uuid } from 'uuid'
import { plainArray } from '../../db/array-literal.ts'
import { ApiError, wrongField } from '../../kernel/errors.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { parseArgs } from './args.ts'
import { type CommandSummary, type Ended, queuedEvent, summaryColumns } from './command.ts'

export interface NewCommand {
  type: CommandTypeName
  args: unknown
  /** `user:<id>` | `api-key:<id>` | `system` */
  issuedBy: string
  /** never started after this; by default a minute for interactive commands, else seven days */
  expiresAt?: Date | undefined
  notBefore?: Date | undefined
  /** of the request that asks for it */
  trace?: Trace | undefined
}

/** What became of each device of {@link sendMany}. */
export interface Sent {
  commands: CommandSummary[]
  /** has one of this type pending, of a type that may be pending once */
  pending: { deviceId: string; commandId: string }[]
  /** does not exist, or the caller may not see it */
  missing: string[]
  decommissioned: string[]
}

/**
 * Queues one command for each device, with its event, in the caller's transaction. After the commit call `dispatch`.
 * @throws ApiError VALIDATION_ERROR when arguments or times do not fit
 */
export async function sendMany(db: Db, deviceIds: readonly string[], command: NewCommand): Promise<Sent> {
  const ids = [...new Set(deviceIds)].sort()
  const queued = await insertCommands(db, ids, command)
  emitAll(db, queued.map(queuedEvent))
  const done = new Set(queued.map((row) => row.deviceId))
  const rest = ids.filter((id) => !done.has(id))
  return { commands: queued, ...(await whyNot(db, rest, command.type)) }
}

/**
 * Queues one command. Undefined when the caller may not see the device. After the commit call `dispatch`.
 * @throws ApiError VALIDATION_ERROR, ALREADY_PENDING `{commandId}`, CONFLICT `{from, to}` for a decommissioned device
 */
export async function send(
  db: Db,
  command: NewCommand & { deviceId: string },
): Promise<CommandSummary | undefined> {
  const { commands, pending, decommissioned } = await sendMany(db, [command.deviceId], command)
  if (pending[0]) {
    throw new ApiError('ALREADY_PENDING', `a ${command.type} is already pending for this device`, {
      details: [{ commandId: pending[0].commandId }],
    })
  }
  if (decommissioned[0]) {
    throw new ApiError('CONFLICT', 'a decommissioned device takes no commands', {
      details: [{ from: 'decommissioned', to: 'queued' }],
    })
  }
  return commands[0]
}

/** The device row is share-locked: it is not decommissioned under the command that is being accepted for it. */
async function insertCommands(
  db: Db,
  deviceIds: readonly string[],
  command: NewCommand,
): Promise<(CommandSummary & Ended)[]> {
  const type: CommandType = commandTypes[command.type]
  const args = parseArgs(command.type, command.args)
  await checkTimes(db, command)
  return db.rows<CommandSummary & Ended>`
    insert into commands as c (id, partner_id, org_id, device_id, type, lane, args, issued_by, not_before, expires_at,
      timeout_ms, one_pending, traceparent, request_id)
    select n.id, d.partner_id, d.org_id, d.id, ${command.type}, ${type.lane}, ${JSON.stringify(args)}::text::jsonb,
      ${command.issuedBy}, coalesce(${command.notBefore ?? null}::timestamptz, now()),
      coalesce(${command.expiresAt ?? null}::timestamptz,
        greatest(now(), ${command.notBefore ?? null}::timestamptz)
          + make_interval(secs => ${expiresAfterMs[type.lane] / 1000}::float8)),
      ${timeoutOf(command.type, args)}::integer, ${type.onePending},
      ${command.trace ? writeTraceparent(command.trace) : null}::text, ${command.trace?.requestId ?? null}::text
    from unnest(${plainArray(deviceIds.map(() => uuid()))}::uuid[], ${plainArray(deviceIds)}::uuid[]) as n (id, device_id)
    join devices d on d.id = n.device_id
    where d.lifecycle <> 'decommissioned' and ${db.visibleDevice('d')}
    order by d.id for share of d
    on conflict (device_id, type) where one_pending and status in ('queued', 'delivered', 'running') do nothing
    returning ${summaryColumns(db)}, c.partner_id, c.org_id`
}

async function checkTimes(db: Db, { expiresAt, notBefore }: NewCommand): Promise<void> {
  if (expiresAt && notBefore && expiresAt <= notBefore)
    throw wrongField('expiresAt', 'must be after notBefore')
  if (expiresAt && expiresAt.getTime() <= (await databaseNow(db)))
    throw wrongField('expiresAt', 'must be in the future')
}

async function whyNot(
  db: Db,
  deviceIds: readonly string[],
  type: CommandTypeName,
): Promise<Omit<Sent, 'commands'>> {
  const reasons: Omit<Sent, 'commands'> = { pending: [], missing: [], decommissioned: [] }
  if (deviceIds.length === 0) return reasons
  const rows = await db.rows<{ id: string; retired: boolean; commandId: string | null }>`
    select d.id, d.lifecycle = 'decommissioned' as retired,
      (select c.id from commands c where c.device_id = d.id and c.type = ${type} and c.one_pending
        and c.status in ('queued', 'delivered', 'running') and ${db.visible('c')} limit 1) as command_id
    from devices d where d.id = any(${plainArray(deviceIds)}::uuid[]) and ${db.visibleDevice('d')}`
  const found = new Map(rows.map((row) => [row.id, row]))
  for (const id of deviceIds) {
    const row = found.get(id)
    if (!row) reasons.missing.push(id)
    else if (row.retired) reasons.decommissioned.push(id)
    else if (row.commandId) reasons.pending.push({ deviceId: id, commandId: row.commandId })
    else
      throw new ApiError('UNAVAILABLE', 'the device changed while the command was accepted', {
        retryAfter: 1,
      })
  }
  return reasons
}
