import type { Db } from '../../kernel/tenancy.ts'
import type { Pipeline } from '../../pipeline.ts'
import { emitAll, type Event } from '../events/emit.ts'
import { type Facts, step } from '../status/states.ts'
import { eventOf, follow, isUnderWay, noCourse, type UpdateReport } from './course.ts'
import {
  giveUpOn,
  listCourses,
  lockReporters,
  lockStalled,
  type Reporter,
  type StoredCourse,
  writeActivities,
  writeCourses,
} from './rows.ts'

interface Told {
  component: string
  from: string | null
  to: string | null
  phase: string
  reason: string | null
}

const event = (type: Event['type'], { id, partnerId, orgId }: Reporter, told: Told): Event => ({
  type,
  subjectId: id,
  partnerId,
  orgId,
  payload: { deviceId: id, ...told },
})

/**
 * What devices say of their updates, in order, in the caller's transaction. An agent that replaces itself is `updating` from the
 * first word to the last; a helper is replaced beside it. Handling a report twice is as good as once.
 */
export async function applyUpdateReports(db: Db, reports: readonly UpdateReport[]): Promise<void> {
  if (reports.length === 0) return
  const ids = [...new Set(reports.map(({ deviceId }) => deviceId))].sort()
  const reporters = new Map((await lockReporters(db, ids)).map((device) => [device.id, device]))
  const courses = new Map((await listCourses(db, ids)).map((course) => [keyOf(course), course]))
  const activities = new Map<string, Facts['activity']>()
  const changed = new Map<string, StoredCourse>()
  const events = new Map<string, Event[]>()
  for (const report of reports) {
    const device = reporters.get(report.deviceId)
    const { deviceId, component } = report
    const next = device && follow(courses.get(keyOf(report)) ?? noCourse, report)
    if (!next) continue
    const course = { ...next.course, deviceId, component }
    courses.set(keyOf(report), course)
    changed.set(keyOf(report), course)
    const facts = { ...device, activity: activities.get(deviceId) ?? device.activity }
    activities.set(deviceId, activityAfter(facts, report))
    const type = eventOf[next.step]
    const { phase, reason, fromVersion: from, toVersion: to } = course
    if (!type) continue
    const told = events.get(keyOf(report)) ?? []
    const last = event(type, device, { component, from, to, phase, reason })
    events.set(keyOf(report), [...told.slice(0, maxTold - 1), last])
  }
  if (changed.size > 0) await writeCourses(db, [...changed.values()])
  await writeChanged(db, reporters, activities)
  emitAll(db, [...events.values()].flat())
}

/** Events of one component in one go: one that goes back and forth without end is told of by how it began and by where it is. */
const maxTold = 4

const keyOf = ({ deviceId, component }: { deviceId: string; component: string }) => `${deviceId} ${component}`

/** The version that runs says more than a word about how it came: that may have been overtaken. */
function activityAfter(device: Reporter, { component, phase, toVersion }: UpdateReport): Facts['activity'] {
  if (component !== 'agent') return device.activity
  if (!isUnderWay(phase)) return step(device, 'update_finished')?.activity ?? device.activity
  if (device.agentVersion === toVersion) return device.activity
  return step(device, 'update_started')?.activity ?? device.activity
}

async function writeChanged(
  db: Db,
  devices: ReadonlyMap<string, Reporter>,
  activities: ReadonlyMap<string, Facts['activity']>,
): Promise<void> {
  const changed = [...activities].filter(([id, activity]) => devices.get(id)?.activity !== activity)
  if (changed.length > 0)
    await writeActivities(
      db,
      changed.map(([id, activity]) => ({ id, activity })),
    )
}

/**
 * Gives up on updates that came to no end (interface §Devices: five minutes): the device is what its connection says again.
 * In transactions of `sweepChunk` devices; returns how many.
 */
export async function endStalledUpdates(
  db: { tx<T>(work: (tx: Db) => Promise<T>): Promise<T> },
  { updatingAfterMs, sweepChunk }: Pick<Pipeline, 'updatingAfterMs' | 'sweepChunk'>,
): Promise<number> {
  let ended = 0
  for (;;) {
    const count = await db.tx((tx) => endChunk(tx, updatingAfterMs, sweepChunk))
    ended += count
    if (count < sweepChunk) return ended
  }
}

const stalledReason = 'timed_out'

async function endChunk(db: Db, afterMs: number, limit: number): Promise<number> {
  const stalled = await lockStalled(db, afterMs, limit)
  if (stalled.length === 0) return 0
  await giveUpOn(db, stalled, stalledReason)
  const agents = stalled.filter(({ component }) => component === 'agent')
  const finished = agents.flatMap((device) => {
    const after = step(device, 'update_finished')
    return after ? [{ id: device.id, activity: after.activity }] : []
  })
  if (finished.length > 0) await writeActivities(db, finished)
  const told = { phase: 'failed', reason: stalledReason }
  emitAll(
    db,
    stalled.map((device) => {
      const { component, fromVersion: from, toVersion: to } = device
      return event('device.update_failed', device, { component, from, to, ...told })
    }),
  )
  return stalled.length
}
