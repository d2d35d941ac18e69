import { randomUUID } from 'node:crypto'
import { dial, type Peer } from '../../system/harness/peer.ts'
import { until } from '../../system/harness/until.ts'
import { all, none, type Row } from '../verdict.ts'
import { type Bare, deviceRow, enrollAt, type Place } from './world.ts'

/** A connection that was let in. */
interface Entered {
  peer: Peer
  epoch: number
}

/** Connects as a process of that name, at that gateway; undefined where it is not let in. */
async function connect(
  { system }: Place,
  { deviceToken }: Bare,
  at: number,
  instanceId: string,
  from?: string,
): Promise<Entered | undefined> {
  const peer = await dial(system.gatewayUrls[at % system.gatewayUrls.length] ?? '', deviceToken, from)
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  const welcome = (await peer.greet({ instanceId }))?.welcome
  return welcome ? { peer, epoch: welcome.epoch ?? 0 } : undefined
}

/**
 * Until the control plane has taken in that connection, and with it who connected: gateways tell of theirs each in its own time, and one
 * that is told of behind a later one counts no more.
 */
const isTakenIn = ({ system }: Place, { deviceId }: Bare, epoch: number) =>
  until(`connection ${epoch} of ${deviceId} is taken in`, async () => {
    const [row] = await system.sql<{ isIn: boolean }[]>`
      select p.epoch >= ${epoch} or d.lifecycle = 'quarantined' as is_in
      from devices d join device_presence p on p.device_id = d.id where d.id = ${deviceId}`
    return row?.isIn ?? false
  })

/** One connection after the other, each taken in before the next, until one is not let in. @returns how many were let in */
async function takeTurns(place: Place, device: Bare, instances: readonly string[]): Promise<number> {
  const open: Entered[] = []
  for (const [at, instance] of instances.entries()) {
    const entered = await connect(place, device, at, instance)
    if (!entered) break
    open.push(entered)
    await isTakenIn(place, device, entered.epoch)
  }
  for (const { peer } of open) peer.drop()
  return open.length
}

/** One process, cut off again and again, at once back at either gateway. @returns how often it was let in */
async function flap(place: Place, device: Bare, times: number): Promise<number> {
  const instance = randomUUID()
  let [last, entries] = [0, 0]
  for (let n = 0; n < times; n++) {
    const entered = await connect(place, device, n, instance)
    entered?.peer.drop()
    if (entered) [last, entries] = [entered.epoch, entries + 1]
  }
  await isTakenIn(place, device, last)
  return entries
}

/**
 * One process that changes networks: from another address each time, while what is left of its connections before hangs.
 * @returns how often it was let in
 */
async function roam(place: Place, device: Bare, times: number): Promise<number> {
  const instance = randomUUID()
  const left: Entered[] = []
  for (let n = 0; n < times; n++) {
    const entered = await connect(place, device, n, instance, `127.0.0.${n + 2}`)
    entered?.peer.freeze()
    if (entered) left.push(entered)
  }
  await isTakenIn(place, device, left.at(-1)?.epoch ?? 0)
  for (const { peer } of left) peer.drop()
  return left.length
}

const turns = (count: number, instances: readonly string[]) =>
  Array.from({ length: count }, (_, n) => instances[n % instances.length] ?? '')

const isLocked = async (place: Place, { deviceId }: Bare) =>
  (await deviceRow(place, deviceId)).lifecycle === 'quarantined'

/** How often the innocent connect. */
const often = { roaming: 12, restarted: 8 } as const
/** The most that two may do before they are certain to be two: the third return. */
const fewTurns = 5

/**
 * Two that take turns are found; one that comes back again and again, from wherever, and one that is started anew, are not.
 * @param reconnects of the one whose network is flaky
 */
export async function copies(place: Place, reconnects: number): Promise<Row[]> {
  const [a, b] = [randomUUID(), randomUUID()]
  const [two, thief, flaky, roaming, restarted, few] = await Promise.all(
    Array.from({ length: 6 }, () => enrollAt(place, place.home)),
  )
  if (!two || !thief || !flaky || !roaming || !restarted || !few) throw new Error('no devices')
  const [, , ...entries] = await Promise.all([
    takeTurns(place, two, turns(fewTurns + 1, [a, b])),
    // A thief that gives another name each time does not keep the device itself from coming back.
    takeTurns(
      place,
      thief,
      turns(5, [a]).flatMap((own) => [own, randomUUID()]),
    ),
    flap(place, flaky, reconnects),
    roam(place, roaming, often.roaming),
    takeTurns(
      place,
      restarted,
      Array.from({ length: often.restarted }, () => randomUUID()),
    ),
    takeTurns(place, few, turns(fewTurns, [a, b])),
  ])
  const missed = [
    ...((await isLocked(place, two)) ? [] : ['two that take turns']),
    ...((await isLocked(place, thief)) ? [] : ['one that gives other names']),
  ]
  const innocent: [string, Bare][] = [
    ['a flaky network', flaky],
    ['one that changes networks', roaming],
    ['an agent that is started again and again', restarted],
    ['an agent that was copied, and the copy ended', few],
  ]
  const wrong: string[] = []
  for (const [what, device] of innocent) if (await isLocked(place, device)) wrong.push(what)
  const events = await place.system.sql<{ n: number }[]>`
    select count(*)::int as n from outbox where type = 'device.quarantined' and subject_id = any (${[two.deviceId, thief.deviceId]}::uuid[])`
  const told = events[0]?.n ?? 0
  return [
    none('copies that are not found', missed),
    none('false alarms', wrong),
    all(
      'connections of those who are no copies',
      reconnects + often.roaming + often.restarted + fewTurns,
      entries.reduce((sum, n) => sum + n, 0),
    ),
    none(
      'copies that nobody is told of',
      told === 2 - missed.length ? [] : [`${told} events of ${2 - missed.length}`],
    ),
  ]
}
