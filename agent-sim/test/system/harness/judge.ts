import type { Execution } from '@svc/agent-sim'
import type postgres from 'postgres'

/** A command that the API accepted, and what must have come of it. */
export interface Accepted {
  id: string
  deviceId: string
  /** default `succeeded` */
  end?: string
  /** exactly what the device printed, where the script says so */
  stdout?: string
  /** ends that are as good, as its device may have gone amid it, or somebody may have taken it back: then it ran once at most */
  mayEnd?: readonly string[]
}

export interface CommandRow {
  id: string
  deviceId: string
  /** whose the command is */
  orgId: string
  /** whose its device is; null: there is no such device */
  deviceOrgId: string | null
  status: string
  /** the script, of commands that run one */
  content: string | null
  stdout: Buffer | null
  finishedAt: Date | null
}

export const commandRows = (sql: postgres.Sql): Promise<CommandRow[]> => sql<CommandRow[]>`
  select c.id, c.device_id, c.org_id, d.org_id as device_org_id, c.status, c.args ->> 'content' as content, c.stdout, c.finished_at
  from commands c left join devices d on d.id = c.device_id`

/** A device began to carry a command out. */
export type Effect = Pick<Execution, 'commandId' | 'deviceId'>

const neverRun = ['expired', 'rejected']

/** What work must never come to, of the invariants a to d; `otherwise`: it ended otherwise than it must. One line for each fault. */
export interface WorkFaults {
  lost: string[]
  excess: string[]
  stray: string[]
  open: string[]
  otherwise: string[]
}

/** Knows rows and ledgers only. */
export function workFaults(
  accepted: readonly Accepted[],
  rows: readonly CommandRow[],
  effects: readonly Effect[],
): WorkFaults {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const known = new Map(accepted.map((one) => [one.id, one]))
  const runs = new Map<string, Effect[]>()
  for (const run of effects) runs.set(run.commandId, [...(runs.get(run.commandId) ?? []), run])
  const each = (faults: (one: Accepted, row: CommandRow, runs: readonly Effect[]) => string[]) =>
    accepted.flatMap((one) => {
      const row = byId.get(one.id)
      return row ? faults(one, row, runs.get(one.id) ?? []) : []
    })
  return {
    lost: accepted
      .filter(({ id }) => !byId.has(id))
      .map(({ id }) => `command ${id} was accepted and is lost`),
    excess: [
      ...rows
        .filter(({ id }) => !known.has(id))
        .map(({ id }) => `command ${id} exists and nobody was told of it`),
      ...[...runs.keys()]
        .filter((id) => !known.has(id))
        .map((id) => `command ${id} ran and nobody had asked for it`),
      ...each(timesFaults),
    ],
    stray: each(strayFaults),
    open: each(({ id }, { status, finishedAt }) =>
      finishedAt ? [] : [`command ${id} is ${status} and has no end`],
    ),
    otherwise: each(endFaults),
  }
}

/**
 * What is wrong with the work that was accepted, one line each, the worst first: not in the database or there in excess, not ended or
 * ended otherwise than it must, not run exactly once by exactly its device, or with somebody else's output.
 */
export function faultsOf(
  accepted: readonly Accepted[],
  rows: readonly CommandRow[],
  effects: readonly Effect[],
): string[] {
  const { lost, excess, stray, open, otherwise } = workFaults(accepted, rows, effects)
  return [...lost, ...excess, ...stray, ...open, ...otherwise]
}

/** Once where it must have had its effect, never where it must not, and once at most in between. */
function timesFaults(
  { id, end = 'succeeded', mayEnd = [] }: Accepted,
  { status }: CommandRow,
  runs: readonly Effect[],
) {
  const times = runs.length
  if (status !== 'succeeded' && mayEnd.includes(status))
    return times > 1 ? [`command ${id} ran ${times} times and is ${status}`] : []
  const wanted = neverRun.includes(end) ? 0 : 1
  return times === wanted ? [] : [`command ${id} ran ${times} times, not ${wanted}`]
}

function strayFaults({ id, deviceId }: Accepted, row: CommandRow, runs: readonly Effect[]): string[] {
  const faults: string[] = []
  if (row.deviceId !== deviceId) faults.push(`command ${id} is for another device`)
  if (row.orgId !== row.deviceOrgId) faults.push(`command ${id} is another organization's than its device`)
  if (runs.some((run) => run.deviceId !== deviceId)) faults.push(`command ${id} ran on another device`)
  return faults
}

function endFaults(one: Accepted, row: CommandRow): string[] {
  const { id, end = 'succeeded', stdout, mayEnd = [] } = one
  if (row.status !== end && mayEnd.includes(row.status)) return []
  const printed = row.stdout?.toString()
  return [
    ...(row.status === end ? [] : [`command ${id} is ${row.status}, not ${end}`]),
    ...(stdout === undefined || printed === stdout
      ? []
      : [`command ${id} printed ${JSON.stringify(printed)}, not ${JSON.stringify(stdout)}`]),
  ]
}

/** The ways in which work can go wrong, each planted into an account of it that is right. */
export function plantedIn(
  accepted: readonly Accepted[],
  rows: readonly CommandRow[],
  executions: readonly Execution[],
): Record<string, string[]> {
  const victim = accepted.find(({ end = 'succeeded' }) => end === 'succeeded')
  const run = executions.find(({ commandId }) => commandId === victim?.id)
  const row = rows.find(({ id }) => id === victim?.id)
  if (!run || !row) throw new Error('there is nothing to plant a fault into')
  const others = rows.filter((one) => one !== row)
  return {
    'lost row': faultsOf(accepted, others, executions),
    'no end': faultsOf(accepted, [...others, { ...row, status: 'running', finishedAt: null }], executions),
    'ran twice': faultsOf(accepted, rows, [...executions, run]),
    'never ran': faultsOf(
      accepted,
      rows,
      executions.filter((one) => one.commandId !== run.commandId),
    ),
    'ran elsewhere': faultsOf(
      accepted,
      rows,
      executions.map((one) => (one === run ? { ...one, deviceId: 'another' } : one)),
    ),
    'nobody asked': faultsOf(
      accepted.filter((one) => one !== victim),
      rows,
      executions,
    ),
  }
}
