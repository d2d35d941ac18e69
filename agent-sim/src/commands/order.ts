import { createHash } from 'node:crypto'
import {
  type CommandArgs,
  type CommandTypeName,
  commandTypes,
  type Lane,
  lanes,
  svc,
  timeoutOf,
  verifyCommand,
} from '@svc/proto'
import type { KeyRing } from './key-ring.ts'

/** A command that this device may run. Times are server time in milliseconds. */
export type Order = {
  [T in CommandTypeName]: {
    id: string
    type: T
    args: CommandArgs<T>
    lane: Lane
    timeoutMs: number
    notBeforeMs: number
    expiresAtMs: number
  }
}[CommandTypeName]

/** Why it may not, as the result says it. */
export interface Refusal {
  outcome: 'REJECTED' | 'EXPIRED'
  error: string
}

/** The body when the control plane signed it for this device; else what is wrong with it. */
export function authenticate(
  command: svc.v1.Command.$Properties,
  keys: KeyRing,
  deviceId: string,
): { body: svc.v1.CommandBody } | { commandId: string; error: string } {
  const bytes = command.body ?? new Uint8Array()
  const body = decodeBody(bytes)
  if (!body) return { commandId: '', error: 'a command that does not decode' }
  const refuse = (error: string) => ({ commandId: body.commandId, error })
  const key = keys.get(command.keyId ?? '')
  if (!key) return refuse(`signed with the unknown key ${JSON.stringify(command.keyId)}`)
  if (!verifyCommand(bytes, command.signature ?? new Uint8Array(), key))
    return refuse('the signature is wrong')
  if (body.deviceId !== deviceId) return refuse('it is for another device')
  return { body }
}

/** What an authentic body asks for; arguments are checked by the type's own schema. `now` is server time. */
export function judge(body: svc.v1.CommandBody, now: number): Order | Refusal {
  const reject = (error: string): Refusal => ({ outcome: 'REJECTED', error })
  if (now > body.expiresAtMs) return expired(body.expiresAtMs)
  if (!createHash('sha256').update(body.args).digest().equals(body.argsSha256))
    return reject('the arguments do not match their hash')
  if (!Object.hasOwn(commandTypes, body.type))
    return reject(`unknown command type ${JSON.stringify(body.type)}`)
  const type = body.type as CommandTypeName
  const args = commandTypes[type].args.safeParse(parseJson(body.args))
  if (!args.success)
    return reject(`invalid arguments: ${args.error.issues.map(({ message }) => message).join('; ')}`)
  return {
    id: body.commandId,
    type,
    args: args.data,
    lane: Object.hasOwn(lanes, body.lane) ? body.lane : commandTypes[type].lane,
    timeoutMs: body.timeoutMs || timeoutOf(type, args.data),
    notBeforeMs: body.notBeforeMs,
    expiresAtMs: body.expiresAtMs,
  } as Order
}

export const expired = (expiresAtMs: number): Refusal => ({
  outcome: 'EXPIRED',
  error: `not started before ${new Date(expiresAtMs).toISOString()}`,
})

export function decodeBody(bytes: Uint8Array): svc.v1.CommandBody | undefined {
  try {
    const body = svc.v1.CommandBody.decode(bytes)
    return body.commandId ? body : undefined
  } catch {
    return undefined
  }
}

/** Undefined is valid for no type's arguments. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}
