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
  /** the device may have gone while it ran, or was about to: then it may end so, and have run once at most */
  mayBeInterrupted?: boolean
}

export interface CommandRow {
  id: string
  deviceId: string
  status: string
  stdout: Buffer | null
  finishedAt: Date | null
}

export const commandRows = (sql: postgres.Sql): Promise<CommandRow[]> =>
  sql<CommandRow[]>`select id, device_id, status, stdout, finished_at from commands`

const neverRun = ['expired', 'rejected']

/**
 * What is wrong with the work that was accepted, one line each, the worst first: not in the database or there in excess, not ended or
 * ended otherwise than it must, not run exactly once by exactly its device, or with somebody else's output. Knows rows and ledgers only.
 */
export function faultsOf(
  accepted: readonly Accepted[],
  rows: readonly CommandRow[],
  executions: readonly Execution[],
): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const known = new Map(accepted.map((one) => [one.id, one]))
  const runs = new Map<string, Execution[]>()
  for (const run of executions) runs.set(run.commandId, [...(runs.get(run.commandId) ?? []), run])
  return [
    ...accepted.filter(({ id }) => !byId.has(id)).map(({ id }) => `command ${id} was accepted and is lost`),
    ...rows
      .filter(({ id }) => !known.has(id))
      .map(({ id }) => `command ${id} exists and nobody was told of it`),
    ...[...runs.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `command ${id} ran and nobody had asked for it`),
    ...accepted.flatMap((one) => wrongWith(one, byId.get(one.id), runs.get(one.id) ?? [])),
  ]
}

function wrongWith(one: Accepted, row: CommandRow | undefined, runs: readonly Execution[]): string[] {
  const { id, deviceId, end = 'succeeded', stdout } = one
  if (!row) return []
  const faults: string[] = []
  if (row.deviceId !== deviceId) faults.push(`command ${id} is for another device`)
  if (one.mayBeInterrupted && row.status === 'interrupted')
    return runs.length > 1
      ? [...faults, `command ${id} ran ${runs.length} times and was interrupted`]
      : faults
  if (row.status !== end) faults.push(`command ${id} is ${row.status}, not ${end}`)
  else if (!row.finishedAt) faults.push(`command ${id} has no end`)
  const times = neverRun.includes(end) ? 0 : 1
  if (runs.length !== times) faults.push(`command ${id} ran ${runs.length} times, not ${times}`)
  if (runs.some((run) => run.deviceId !== deviceId)) faults.push(`command ${id} ran on another device`)
  if (stdout !== undefined && row.stdout?.toString() !== stdout)
    faults.push(
      `command ${id} printed ${JSON.stringify(row.stdout?.toString())}, not ${JSON.stringify(stdout)}`,
    )
  return faults
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
