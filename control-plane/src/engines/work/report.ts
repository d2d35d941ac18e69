import type { svc } from '@svc/proto'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { finishedEvent } from './command.ts'
import type { Connection } from './deliver.ts'
import { type Finish, readResult } from './outcome.ts'
import { lockReported, type ReportedCommand, writeFinished, writeLate, writeStarted } from './report-rows.ts'
import { isFinal, step } from './states.ts'

/** What a device says about a command, in the order it said it. */
export interface Report {
  from: Connection
  commandId: string
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
  /** how many reports were taken, and how many for which reason not */
  counts: Record<'applied' | 'duplicate' | 'late' | 'unknown' | 'foreign' | 'superseded', number>
}

/**
 * Applies reports in this transaction. Idempotent. A report about another device's command is refused; an ack or progress of a
 * replaced connection too, since the newer one is offered the command again. A result counts whatever connection it came on.
 * @param graceMs what a command gets over its own time limit before the server ends it
 */
export async function applyReports(db: Db, reports: readonly Report[], graceMs: number): Promise<Applied> {
  const applied: Applied = {
    acknowledge: [],
    stop: [],
    finished: [],
    counts: { applied: 0, duplicate: 0, late: 0, unknown: 0, foreign: 0, superseded: 0 },
  }
  if (reports.length === 0) return applied
  const commands = await lockReported(
    db,
    reports.map((report) => report.commandId),
  )
  const changes: Changes = { started: new Set(), finished: new Map(), late: new Map() }
  for (const report of reports) applied.counts[applyOne(commands, report, applied, changes)]++
  writeStarted(db, [...changes.started], graceMs)
  writeFinished(db, [...changes.finished])
  writeLate(db, [...changes.late])
  const ended = [...changes.finished.keys()]
  emitAll(db, ended.map(finishedEvent))
  applied.finished = ended.map((command) => command.id)
  return applied
}

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
  const command = commands.get(report.commandId)
  const isResult = report.said.kind === 'result'
  if (!command) {
    if (isResult) applied.acknowledge.push(report) // nothing will ever be done with it
    return 'unknown'
  }
  if (command.deviceId !== report.from.deviceId) return 'foreign'
  if (report.said.kind === 'result') {
    applied.acknowledge.push(report)
    return applyResult(command, report.said.result, changes)
  }
  if (report.from.epoch < command.epoch) return 'superseded'
  const to = step(command.status, report.said.kind)
  if (to) {
    command.status = to
    changes.started.add(command)
    return 'applied'
  }
  if (isFinal(command.status) && command.resultAt === null) applied.stop.push(report)
  return 'duplicate'
}

function applyResult(
  command: ReportedCommand,
  said: svc.v1.ICommandResult,
  changes: Changes,
): 'applied' | 'late' | 'duplicate' {
  const finish = readResult(command.type, said)
  const to = step(command.status, `reported:${finish.outcome}`)
  if (to) {
    command.status = to
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
