import { svc } from '@svc/proto'
import type { Drop } from '../ops/counters.ts'
import type { Taken } from '../transport/link.ts'

/** What a gateway says about a device. */
export type UpBody = Pick<
  svc.v1.IUpItem,
  | 'heartbeat'
  | 'session'
  | 'commandAck'
  | 'commandProgress'
  | 'commandResult'
  | 'inventory'
  | 'updateStatus'
  | 'credentialProposal'
  | 'trace'
>

export interface Item {
  item: svc.v1.IUpItem
  /** bytes on the wire, estimated */
  size: number
  /** only the last of a device counts; undefined: each counts */
  latest: 'heartbeat' | 'watchdog' | 'connected' | 'disconnected' | undefined
  /** who is told when it was accepted, or when what took its place was */
  taken: readonly Taken[]
}

/** Ids, epoch, time and tags around a body. */
const overheadBytes = 96

const latestOf = ({ heartbeat, session }: UpBody): Item['latest'] => {
  if (heartbeat) return heartbeat.role === svc.v1.AgentRole.WATCHDOG ? 'watchdog' : 'heartbeat'
  if (session) return session.kind === svc.v1.SessionEvent.Kind.CONNECTED ? 'connected' : 'disconnected'
  return undefined
}

const nobody: readonly Taken[] = []

export const itemOf = (
  deviceId: string,
  epoch: number,
  body: UpBody,
  size: number,
  nowMs: number,
  taken?: Taken,
): Item => ({
  // One shape for all kinds: the encoder is eight times slower with objects put together by spreading.
  item: {
    deviceId,
    epoch,
    receivedAtMs: nowMs,
    heartbeat: body.heartbeat ?? null,
    session: body.session ?? null,
    commandAck: body.commandAck ?? null,
    commandProgress: body.commandProgress ?? null,
    commandResult: body.commandResult ?? null,
    inventory: body.inventory ?? null,
    updateStatus: body.updateStatus ?? null,
    credentialProposal: body.credentialProposal ?? null,
    trace: body.trace ?? null,
  },
  size: size + overheadBytes,
  latest: latestOf(body),
  taken: taken ? [taken] : nobody,
})

/** How soon it is to go up: a caller may be waiting for a result, somebody may be looking at how far a command is. */
export const urgencyOf = ({
  commandAck,
  commandProgress,
  commandResult,
}: UpBody): 'now' | 'soon' | undefined => {
  if (commandResult) return 'now'
  return commandAck || commandProgress ? 'soon' : undefined
}

/** The counter of a kind that only its agent can send again. */
export const dropOf = (body: UpBody): Drop => {
  const { commandResult, commandAck, commandProgress, updateStatus, credentialProposal } = body
  if (commandResult) return 'up_refused_result'
  if (commandAck) return 'up_refused_ack'
  if (commandProgress) return 'up_refused_progress'
  if (credentialProposal) return 'up_refused_credential_proposal'
  return updateStatus ? 'up_refused_update_status' : 'up_refused_inventory'
}
