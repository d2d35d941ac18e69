import type { svc } from '@svc/proto'
import type { Trace } from '@svc/proto/trace'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { finishedEvent } from './command.ts'
import type { Connection } from './deliver.ts'
import { type Finish, readResult } from './outcome.ts'
import { lockReported, type ReportedCommand, writeFinished, writeLate, writeStarted } from './report-rows.ts'
import { type CommandState, isFinal, step } from './states.ts'
import type { Trailed } from './trail.ts'

/** What a device says about a command, in the order it said it. */
export interface Report {
  from: Connection
  commandId: string
  /** of the gateway that handed it up */
  trace?: Trace | undefined
  said: { kind: 'acked' } | { kind: 'started' } | { kind: 'result'; result: svc.v1.ICommandResult }
}

/** What follows once the reports are committed. */
export interface Applied {
  /** results that the devices may forget */
  acknowledge: Report[]
  /** accepted by a device although it has ended here: the device is to stop it */
  stop: Report[]
  /** ids of commands that ended */
  finished: string[]
  /** what became of each report on a command that there is, in order */
  trailed: { command: Trailed; said: string; became: string; via: Trace | undefined }[]
  /** devices that were sent what nobody had signed for them, and how often */
  disowned: { deviceId: string; commandId: string; frames: number }[]
  /** states that commands left, in seconds after they had come to them */
  left: { state: 'queued' | 'delivered' | 'running'; seconds: number }[]
  /** of commands that were delivered: seconds after they could have been */
  delivered: number[]
  /** how many reports were taken, and how many for which reason not */
  counts: Record<'applied' | 'duplicate' | 'late' | 'unknown' | 'foreign' | 'superseded' | 'disowned', number>
}

/**
 * Applies reports in this transaction. Idempotent. A report about another device's command is refused; an ack or progress of a
 * replaced connection too, since the newer one is offered the command again. A result counts whatever connection it came on. That a
 * device disowns a frame is counted, and nothing else.
 * @param graceMs what a command gets over its own time limit before the server ends it
 */
export async function applyReports(db: Db, reports: readonly Report[], graceMs: number): Promise<Applied> {
  const applied: Applied = {
    acknowledge: [],
    stop: [],
    finished: [],
    trailed: [],
    disowned: [],
    counts: { applied: 0, duplicate: 0, late: 0, unknown: 0, foreign: 0, superseded: 0, disowned: 0 },
    left: [],
    delivered: [],
  }
  if (reports.length === 0) return applied
  const commands = await lockReported(
    db,
    reports.map((report) => report.commandId),
  )
  const changes: Changes = { started: new Set(), finished: new Map(), late: new Map() }
  for (const report of reports) {
    if (disowns(report, applied)) continue
    const became = applyOne(commands, report, applied, changes)
    applied.counts[became]++
    const command = commands.get(report.commandId)
    if (command?.traceparent && became !== 'foreign')
      applied.trailed.push({ command, said: report.said.kind, became, via: report.trace })
  }
  writeStarted(db, [...changes.started], graceMs)
  writeFinished(db, [...changes.finished])
  writeLate(db, [...changes.late])
  const ended = [...changes.finished.keys()]
  emitAll(db, ended.map(finishedEvent))
  applied.finished = ended.map((command) => command.id)
  return applied
}

/** No word of the command that it names, which stands as it did: whoever made that frame chose the name. */
function disowns({ said, from: { deviceId }, commandId }: Report, applied: Applied): boolean {
  const frames = said.kind === 'result' ? Math.min(said.result.disowned ?? 0, mostDisowned) : 0
  if (frames === 0) return false
  applied.disowned.push({ deviceId, commandId, frames })
  applied.counts.disowned += frames
  return true
}

/** Of one report: no device that tells the truth has more to say of a second. */
const mostDisowned = 10_000

interface Changes {
  /** acknowledged or started; `status` says how far */
  started: Set<ReportedCommand>
  finished: Map<ReportedCommand, Finish>
  late: Map<ReportedCommand, Finish>
}

function applyOne(
  commands: ReadonlyMap<string, ReportedCommand>,
  report: Report,
  applied: Applied,
  changes: Changes,
): keyof Applied['counts'] {
  const found = commands.get(report.commandId)
  // Of a command that another organization asked for before the device moved nothing is heard any more, and the device forgets it.
  const command = found?.left && found.deviceId === report.from.deviceId ? undefined : found
  const isResult = report.said.kind === 'result'
  if (!command) {
    if (isResult) applied.acknowledge.push(report) // nothing will ever be done with it
    return 'unknown'
  }
  if (command.deviceId !== report.from.deviceId) return 'foreign'
  if (report.said.kind === 'result') {
    applied.acknowledge.push(report)
    return applyResult(command, report.said.result, applied, changes)
  }
  if (report.from.epoch < command.epoch) return 'superseded'
  const to = step(command.status, report.said.kind)
  if (to) {
    leave(command, to, applied)
    changes.started.add(command)
    return 'applied'
  }
  if (isFinal(command.status) && command.resultAt === null) applied.stop.push(report)
  return 'duplicate'
}

/** It is another thing from now on. What a clock that was put back makes less than nothing is nothing. */
function leave(command: ReportedCommand, to: CommandState, { left, delivered }: Applied): void {
  const { status: state, since, deliverable } = command
  if (state === 'queued' || state === 'delivered' || state === 'running')
    left.push({ state, seconds: Math.max(0, since) })
  if (state === 'queued') delivered.push(Math.max(0, deliverable ?? since))
  command.status = to
  command.since = 0
}

function applyResult(
  command: ReportedCommand,
  said: svc.v1.ICommandResult,
  applied: Applied,
  changes: Changes,
): 'applied' | 'late' | 'duplicate' {
  const finish = readResult(command.type, said)
  const to = step(command.status, `reported:${finish.outcome}`)
  if (to) {
    leave(command, to, applied)
    command.resultAt = new Date()
    changes.started.delete(command)
    changes.finished.set(command, finish)
    return 'applied'
  }
  if (command.resultAt !== null || command.hasLate) return 'duplicate'
  command.hasLate = true
  changes.late.set(command, finish)
  return 'late'
}
