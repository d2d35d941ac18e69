import { afterAll, beforeEach, expect, test } from 'vitest'
import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { v7 as uuid } from 'uuid'
import { openPipeline } from '../../../test/harness/pipeline.ts'
import { emitAll, type Event } from './emit.ts'
import { liveEvents } from './live.ts'
import { type OutgoingEvent, relayEvents, type Subscriber } from './relay.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db } = on
const log = on.deps.log

beforeEach(async () => {
  await sql`truncate outbox`
  on.logged.length = 0
})

const event = (subjectId: string, type: Event['type'] = 'device.online'): Event => ({
  type,
  subjectId,
  partnerId: on.partnerId,
  orgId: on.orgId,
  payload: { deviceId: subjectId },
})
const listener = (refuse: (event: OutgoingEvent) => boolean = () => false) => {
  const heard: OutgoingEvent[] = []
  const subscriber: Subscriber = {
    name: 'listener',
    types: 'all',
    receive: async (one) => {
      if (refuse(one)) throw new Error('not now')
      heard.push(one)
    },
  }
  return { heard, subscriber }
}
const relay = (...subscribers: Subscriber[]) => relayEvents({ db, subscribers, log }, 3)

test('events of a transaction that fails were never there', async () => {
  const failing = db.tx(async (tx) => {
    emitAll(tx, [event(uuid())])
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await sql`select 1 from outbox`).toEqual([])
})

test('every event is handed on once, in order, in as many batches as it takes', async () => {
  const [a, b] = [uuid(), uuid()]
  await db.tx(async (tx) =>
    emitAll(tx, [event(a), event(a, 'device.offline'), event(b), event(a, 'device.online')]),
  )
  await db.tx(async (tx) => emitAll(tx, [event(b, 'device.offline'), event(a, 'device.offline')]))
  const { heard, subscriber } = listener()
  await relay(subscriber)
  const of = (id: string) => heard.filter((one) => one.subjectId === id).map((one) => one.type)
  expect(of(a)).toEqual(['device.online', 'device.offline', 'device.online', 'device.offline'])
  expect(of(b)).toEqual(['device.online', 'device.offline'])
  await relay(subscriber)
  expect(heard).toHaveLength(6)
})

test('an event that becomes visible late, behind a newer one, is not passed over', async () => {
  const { heard, subscriber } = listener()
  const [early, late] = [uuid(), uuid()]
  let commit = () => {}
  const held = new Promise<void>((resolve) => {
    commit = resolve
  })
  let written = () => {}
  const inserted = new Promise<void>((resolve) => {
    written = resolve
  })
  const slow = db.tx(async (tx) => {
    emitAll(tx, [event(early)])
    await tx.rows`select 1`
    written()
    await held
  })
  await inserted
  await db.tx(async (tx) => emitAll(tx, [event(late)]))
  await relay(subscriber)
  expect(heard.map((one) => one.subjectId)).toEqual([late])
  commit()
  await slow
  await relay(subscriber)
  expect(heard.map((one) => one.subjectId)).toEqual([late, early])
})

test('an event that is not taken holds up its own subject only, and comes again', async () => {
  const [bad, good] = [uuid(), uuid()]
  await db.tx(async (tx) =>
    emitAll(tx, [
      event(bad),
      event(bad, 'device.offline'),
      event(good),
      event(bad),
      event(good, 'device.offline'),
      event(good),
    ]),
  )
  let refusing = true
  const { heard, subscriber } = listener((one) => refusing && one.subjectId === bad)
  await relay(subscriber)
  expect(heard.map((one) => one.subjectId)).toEqual([good, good, good])
  expect(on.logged).toMatchObject([{ level: 'warn', details: { subscriber: 'listener' } }])
  refusing = false
  await relay(subscriber)
  expect(heard.slice(3).map((one) => one.type)).toEqual(['device.online', 'device.offline', 'device.online'])
})

test('a subscriber hears the types that it asked for', async () => {
  await db.tx(async (tx) => emitAll(tx, [event(uuid()), event(uuid(), 'device.offline')]))
  const { heard, subscriber } = listener()
  await relay({ ...subscriber, types: ['device.offline'] })
  expect(heard.map((one) => one.type)).toEqual(['device.offline'])
})

test('the live channel of the partner carries the event', async () => {
  const subject = uuid()
  await db.tx(async (tx) => emitAll(tx, [event(subject)]))
  const heard: svc.v1.LiveEvent[] = []
  await on.bus.subscribe(
    names.events(on.partnerId),
    (payload) => void heard.push(svc.v1.LiveEvent.decode(payload)),
  )
  await relay(liveEvents(on.bus))
  await new Promise((resolve) => setImmediate(resolve))
  expect(heard).toMatchObject([
    { type: 'device.online', subjectId: subject, orgId: on.orgId, partnerId: on.partnerId },
  ])
})
