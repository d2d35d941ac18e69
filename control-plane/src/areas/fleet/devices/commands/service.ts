import { type CommandType, commandTypes } from '@svc/proto'
import { awaitFinish } from '../../../../engines/work/await-finish.ts'
import { cancel } from '../../../../engines/work/cancel.ts'
import type { Command, CommandSummary, KeptOutput } from '../../../../engines/work/command.ts'
import { findCommand, listCommands } from '../../../../engines/work/find.ts'
import { dispatch, tellFinished } from '../../../../engines/work/hints.ts'
import { send } from '../../../../engines/work/send.ts'
import { holds } from '../../../../kernel/access.ts'
import type { Actor, Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { together } from '../../../../kernel/together.ts'
import { deviceOwner } from '../devices/service.ts'
import type { Accepted, CommandDetail, CommandRow, SendCommand, Wait } from './schema.ts'
import { type OutputView, viewOutput } from './output.ts'

type OneCommand = { id: string; commandId: string }

/** As commands and their signatures name who asked. */
function issuer(actor: Actor): string {
  if (actor.type === 'user') return `user:${actor.id}`
  if (actor.type === 'api_key') return `api-key:${actor.id}`
  throw new Error(`an actor of type ${actor.type} sends no commands`)
}

/**
 * Queues a command.
 *
 * @throws ApiError 404 for a device that the caller may not see; 403 without the permission that the type demands; 409 ALREADY_PENDING or for a decommissioned device
 */
export async function sendCommand(
  ctx: Ctx<{ id: string }, unknown, SendCommand>,
): Promise<Accepted | undefined> {
  const { db, params, body, ports } = ctx
  // The device stands first: of one that the caller may not see nothing is said, whatever else is wrong.
  const [device, command] = await together(visibleDevice(db, params.id), queue(ctx))
  if (!command) return undefined
  const { partnerId, orgId, hostname } = device
  const details = { commandId: command.id, command: body.type }
  ctx.audited({ type: 'device', id: device.id, name: hostname, partnerId, orgId, details })
  ctx.after(() => dispatch(ports, device.id))
  return { ...command, status: 'queued' }
}

async function visibleDevice(db: Db, id: string) {
  const device = await deviceOwner(db, id)
  if (!device) throw new ApiError('NOT_FOUND', 'not found')
  return device
}

async function queue(ctx: Ctx<{ id: string }, unknown, SendCommand>): Promise<CommandSummary | undefined> {
  const { db, params, body, actor, client } = ctx
  requireTypePermission(ctx)
  const { type, payload: args } = body
  const expiresAt = body.expiresAt === undefined ? undefined : new Date(body.expiresAt)
  return send(db, {
    deviceId: params.id,
    type,
    args,
    issuedBy: issuer(actor),
    expiresAt,
    trace: client.trace,
  })
}

function requireTypePermission({ caller, body }: Ctx<{ id: string }, unknown, SendCommand>) {
  const { permission }: CommandType = commandTypes[body.type]
  if (!holds(caller, permission)) {
    throw new ApiError('FORBIDDEN', `permission ${permission} is needed for ${body.type}`)
  }
}

/** A device's commands, newest first and without output. @throws ApiError 404 */
export async function commandList({ db, params }: Ctx<{ id: string }>, page: Page): Promise<CommandRow[]> {
  const [device, commands] = await Promise.all([
    deviceOwner(db, params.id),
    listCommands(db, params.id, page),
  ])
  if (!device) throw new ApiError('NOT_FOUND', 'no such device')
  return commands.map(rowOf)
}

/**
 * The command as it stands, or as it ended within `waitMs`. A caller who hangs up, or may not ask any more, is waited for no
 * longer. Undefined: 404.
 */
export async function findOne(ctx: Ctx<OneCommand, Wait>): Promise<CommandDetail | undefined> {
  const { db, params, query, ports, client, still } = ctx
  const { id: deviceId, commandId: id } = params
  const command =
    query.waitMs === 0
      ? await findCommand(db, deviceId, id)
      : await awaitFinish(ports, still, { deviceId, id }, query.waitMs, client.gone)
  return command && detailOf(command)
}

/**
 * Takes a command back: a queued one ends at once, a delivered or running one when the device has stopped it. Undefined (404)
 * for a command that the caller may not see.
 *
 * @throws ApiError 409 with `{from, to}` when it has ended
 */
export async function cancelCommand(ctx: Ctx<OneCommand>): Promise<CommandRow | undefined> {
  const { db, params, ports } = ctx
  const device = await deviceOwner(db, params.id)
  const command = device && (await cancel(db, device.id, params.commandId))
  if (!command) return undefined
  const { id, partnerId, orgId, hostname } = device
  const details = { commandId: command.id, command: command.type }
  ctx.audited({ type: 'device', id, name: hostname, partnerId, orgId, details })
  ctx.after(() => (command.finishedAt ? tellFinished(ports.bus, [command.id]) : dispatch(ports, id)))
  return rowOf(command)
}

const rowOf = ({ args, ...command }: CommandSummary): CommandRow => ({
  ...command,
  payload: args as Record<string, unknown>,
})

const shown = (output: KeptOutput | undefined): OutputView | null => (output ? viewOutput(output) : null)

const detailOf = ({ stdout, stderr, ...command }: Command): CommandDetail => ({
  ...rowOf(command),
  result: command.result,
  lateResult: command.lateResult,
  stdout: shown(stdout),
  stderr: shown(stderr),
})
