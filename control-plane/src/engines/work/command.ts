import type { CommandTypeName } from '@svc/proto'
import type { Fragment } from 'postgres'
import type { Db } from '../../kernel/tenancy.ts'
import type { Event } from '../events/emit.ts'
import type { CommandState } from './states.ts'

/** A command as lists show it: without its output. */
export interface CommandSummary {
  id: string
  deviceId: string
  type: CommandTypeName
  lane: string
  status: CommandState
  args: unknown
  issuedBy: string
  createdAt: Date
  notBefore: Date
  expiresAt: Date
  attempt: number
  cancelRequestedAt: Date | null
  deliveredAt: Date | null
  startedAt: Date | null
  finishedAt: Date | null
  exitCode: number | null
  error: string | null
}

/** One output stream as it came; undefined when the command left none. */
export interface KeptOutput {
  data: Buffer
  /** what the device said it is; empty: unknown */
  encoding: string
  /** bytes that the device produced */
  size: number
  truncated: boolean
}

/** A command with all that came of it. */
export interface Command extends CommandSummary {
  /** of the shape that its type declares, or null */
  result: unknown
  stdout: KeptOutput | undefined
  stderr: KeptOutput | undefined
  /** what the device reported after the server had ended the command: changes nothing */
  lateResult: unknown
}

/** The columns of {@link CommandSummary}, of table alias `c`. */
export const summaryColumns = (db: Db): Fragment =>
  db.sql`c.id, c.device_id, c.type, c.lane, c.status, c.args, c.issued_by, c.created_at, c.not_before, c.expires_at,
    c.attempt, c.cancel_requested_at, c.delivered_at, c.started_at, c.finished_at, c.exit_code, c.error`

/** What every statement that ends commands returns for {@link finishedEvent}. */
export interface Ended {
  id: string
  deviceId: string
  partnerId: string
  orgId: string
  type: string
  status: CommandState
}

const about = ({ id, deviceId, partnerId, orgId, type, status }: Ended) => ({
  subjectId: deviceId, // so that a device's events are told in order
  partnerId,
  orgId,
  payload: { commandId: id, deviceId, type, status },
})

export const queuedEvent = (command: Ended): Event => ({ type: 'command.queued', ...about(command) })
export const finishedEvent = (command: Ended): Event => ({ type: 'command.finished', ...about(command) })
