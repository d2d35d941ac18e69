/** Everything a command can be. */
export const commandStates = [
  'queued',
  'delivered',
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'expired',
  'rejected',
  'interrupted',
] as const
export type CommandState = (typeof commandStates)[number]

/** How a device may say that a command ended. */
export const outcomes = [
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'expired',
  'rejected',
  'interrupted',
] as const
export type Outcome = (typeof outcomes)[number]

/**
 * What can happen to a command:
 * - `acked`, `started`, `reported:<outcome>`: the device says so
 * - `cancelled`: somebody takes it back before the device has it
 * - `withdrawn`: its device is decommissioned
 * - `lapsed`: `expires_at` has passed unheard
 * - `overdue`: `deadline_at` has passed without a result (promise P4)
 */
export type CommandTrigger =
  | 'acked'
  | 'started'
  | 'cancelled'
  | 'withdrawn'
  | 'lapsed'
  | 'overdue'
  | `reported:${Outcome}`

type Row = Partial<Record<CommandTrigger, CommandState>>

/** A result is believed from wherever the command stands: its ack or progress may have been lost on the way. */
const reported = {
  'reported:succeeded': 'succeeded',
  'reported:failed': 'failed',
  'reported:timed_out': 'timed_out',
  'reported:cancelled': 'cancelled',
  'reported:expired': 'expired',
  'reported:rejected': 'rejected',
  'reported:interrupted': 'interrupted',
} as const satisfies Row

/** `from × trigger → to`. What is not here does not happen; a final state has no way out. */
export const commandTransitions: Record<CommandState, Row> = {
  queued: {
    acked: 'delivered',
    started: 'running',
    cancelled: 'cancelled',
    withdrawn: 'cancelled',
    lapsed: 'expired',
    ...reported,
  },
  delivered: { started: 'running', withdrawn: 'cancelled', overdue: 'timed_out', ...reported },
  running: { withdrawn: 'cancelled', overdue: 'timed_out', ...reported },
  succeeded: {},
  failed: {},
  timed_out: {},
  cancelled: {},
  expired: {},
  rejected: {},
  interrupted: {},
}

/** The state after `trigger`, or undefined where it changes nothing. */
export const step = (from: CommandState, trigger: CommandTrigger): CommandState | undefined =>
  commandTransitions[from][trigger]

/** Whether the command has ended; then it stays as it is. */
export const isFinal = (state: CommandState): boolean => Object.keys(commandTransitions[state]).length === 0

/** The states that `trigger` leads out of: what a set-based statement may touch. */
export const statesBefore = (trigger: CommandTrigger): CommandState[] =>
  commandStates.filter((state) => step(state, trigger) !== undefined)

/** Pending as in `ALREADY_PENDING`: not ended yet. */
export const pendingStates: readonly CommandState[] = commandStates.filter((state) => !isFinal(state))
