import type { EventType } from '../events/catalogue.ts'
import type { Component } from './releases.ts'

/** Where an update is. `offered`: the device has said nothing of it yet. */
export type Phase =
  | 'offered'
  | 'downloading'
  | 'verifying'
  | 'backing_up'
  | 'swapping'
  | 'restarting'
  | 'done'
  | 'rolled_back'
  | 'failed'

/** What a device says of one update. */
export interface UpdateReport {
  deviceId: string
  /** of the connection that it came on */
  epoch: number
  /** the gateway's time */
  receivedAtMs: number
  component: Component
  phase: Exclude<Phase, 'offered'>
  fromVersion: string
  toVersion: string
  reason: string
  /** the device's idea of the time: what is said twice says the same one */
  atMs: number
}

/** How the updates of one component have gone so far. */
export interface Course {
  phase: Phase
  fromVersion: string | null
  toVersion: string | null
  reason: string | null
  /** what was said last, and where that stands in the order of what the device says */
  said: string | null
  epoch: number
  /** the gateway's time, and the device's */
  heardMs: number
  saidMs: number
  /** the version that failed last, how often, and since when */
  failedVersion: string | null
  failures: number
  failedSinceMs: number | null
}

export const noCourse: Course = {
  phase: 'offered',
  fromVersion: null,
  toVersion: null,
  reason: null,
  said: null,
  epoch: 0,
  heardMs: 0,
  saidMs: 0,
  failedVersion: null,
  failures: 0,
  failedSinceMs: null,
}

/** Failures further back than this are forgotten. */
const failuresCountMs = 24 * 3_600_000

export const isUnderWay = (phase: Phase): boolean =>
  !['offered', 'done', 'rolled_back', 'failed'].includes(phase)

/** What the first word about a phase means; undefined: nothing new. */
type Step = 'began' | 'went_on' | 'succeeded' | 'failed'

export const eventOf: Partial<Record<Step, EventType>> = {
  began: 'device.update_started',
  succeeded: 'device.updated',
  failed: 'device.update_failed',
}

/** The course after a report. What was heard before, or came before what was heard last, changes nothing. */
export function follow(course: Course, report: UpdateReport): { course: Course; step: Step } | undefined {
  const { epoch, receivedAtMs, phase, fromVersion, toVersion, reason, atMs } = report
  const said = `${phase} ${toVersion} ${atMs}`
  if (isLate(course, report) || said === course.said) return undefined
  const next: Course = {
    ...course,
    phase,
    fromVersion: fromVersion || null,
    toVersion: toVersion || null,
    reason: reason || null,
    said,
    epoch,
    heardMs: receivedAtMs,
    saidMs: atMs,
  }
  if (phase === 'done') return { course: { ...next, ...forgiven }, step: 'succeeded' }
  if (!isUnderWay(phase)) return { course: { ...next, ...failed(course, report) }, step: 'failed' }
  const goesOn = isUnderWay(course.phase) && course.toVersion === next.toVersion
  return { course: next, step: goesOn ? 'went_on' : 'began' }
}

const order: readonly Phase[] = [
  'offered',
  'downloading',
  'verifying',
  'backing_up',
  'swapping',
  'restarting',
  'done',
  'rolled_back',
  'failed',
]

/** Whether what was heard last was said after this: by connection, by when it came, by when it was said, by what comes before what. */
function isLate(course: Course, { epoch, receivedAtMs, atMs, phase }: UpdateReport): boolean {
  const [before, here] = [
    [course.epoch, course.heardMs, course.saidMs, order.indexOf(course.phase)],
    [epoch, receivedAtMs, atMs, order.indexOf(phase)],
  ]
  const at = here.findIndex((value, i) => value !== before[i])
  return at >= 0 && (here[at] ?? 0) < (before[at] ?? 0)
}

const forgiven = { failedVersion: null, failures: 0, failedSinceMs: null }

function failed(
  { failedVersion, failures, failedSinceMs }: Course,
  { toVersion, receivedAtMs }: UpdateReport,
) {
  const again =
    failedVersion === toVersion && failedSinceMs !== null && receivedAtMs - failedSinceMs < failuresCountMs
  return again
    ? { failedVersion, failures: failures + 1, failedSinceMs }
    : { failedVersion: toVersion, failures: 1, failedSinceMs: receivedAtMs }
}
