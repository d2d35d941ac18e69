import { setTimeout as sleep } from 'node:timers/promises'
import { closeCode } from '@svc/proto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from './harness/api.ts'
import { brokenIn } from './harness/checker/crowds.ts'
import { claimFaults } from './harness/claims.ts'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { type Accepted, commandRows, faultsOf, plantedIn } from './harness/judge.ts'
import { isAdmitted } from './harness/peer.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { admittedTogether } from './harness/rivals.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { numbers } from './harness/numbers.ts'
import { until, untilClean } from './harness/until.ts'
import { enroll } from './harness/voice.ts'
import { sendScripts } from './harness/work.ts'

/** Twice as long as the longest silence that a device may keep here. */
const outageMs = 2 * numbers.silentAfterMs
/** Of a node's devices, when it has died: its lease, and the sweep. */
const orphanedMs = numbers.goneAfterMs + 2_000

/** One outage, told in three parts. */
systemTests('Redis dies and comes back empty', () => {
  let system: System
  let api: Api
  let crowd: Crowd
  let watch: PresenceWatch
  let died: number
  /** who holds a connection from the beginning to the end */
  let staying: string[]
  /** vanished without a word, and removed, while Redis is gone */
  let leaving: string[]
  /** enrolled while Redis is gone: offline until they were first heard of */
  const unknown = new Set<string>()
  const crowds: Crowd[] = []
  const accepted: Accepted[] = []

  const effects = () => crowds.flatMap((one) => one.executions())
  const judge = async () => faultsOf(accepted, await commandRows(system.sql), effects())
  const unfinished = async () => (await commandRows(system.sql)).filter(({ finishedAt }) => !finishedAt)
  const offline = () => new Set([...watch.offline.keys()].filter((id) => !unknown.has(id)))
  /** Devices that lost a connection that they wanted to keep. */
  const cut = () =>
    new Set(
      crowd.events.flatMap(({ kind, number }) =>
        kind === 'disconnected' ? (crowd.ids[number - 1] ?? '') : [],
      ),
    )
  const heldBy = async (index: number) =>
    (await presenceRows(system.sql))
      .filter(({ node }) => node === system.nodeOf(index))
      .map(({ deviceId }) => deviceId)

  beforeAll(async () => {
    system = await startSystem({ gateways: 2 })
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 60, name: 'crowd', transports: mixed })
    crowds.push(crowd)
    await untilClean('all are there', async () =>
      presenceFaults(crowd.ids, crowd.epochs(), await presenceRows(system.sql)),
    )
    const [vanished = '', retired = '', ...others] = crowd.ids
    leaving = [vanished, retired]
    staying = others
    watch = new PresenceWatch(system.sql)
  })
  afterAll(async () => {
    for (const one of crowds) await one.fleet.kill()
    await system?.close()
  })

  test('nobody loses a connection, waits for work, or counts as offline; who leaves meanwhile does', async () => {
    const [vanished = '', retired = ''] = leaving
    const epochs = crowd.epochs()
    // Work that lasts until Redis is gone, also where the machine is busy.
    const before = sendScripts(api, staying, 3, accepted)
    await until('work is under way', () => effects().length > 20)
    await system.redis.kill()
    died = Date.now()
    expect((await unfinished()).length).toBeGreaterThan(10)
    await before

    const isOver = () => watch.offline.has(vanished) && Date.now() - died > numbers.silentAfterMs
    const patience = died + 60_000
    for (let round = 0; !isOver(); round++) {
      if (Date.now() > patience) throw new Error('who vanished does not count as offline')
      await sendScripts(api, staying.slice(round % 10, (round % 10) + 8), 0, accepted)
      expect(await notListed(staying)).toEqual([])
      if (round === 0) crowd.fleet.agents.find(({ deviceId }) => deviceId === vanished)?.agent.kill()
      if (round === 1) await retire(retired)
      await sleep(2_000)
    }
    await untilClean('all is done, without Redis', judge)
    expect(offline()).toEqual(new Set(leaving))
    expect(cut()).toEqual(new Set())
    const stayed = (all: ReadonlyMap<string, number>) => staying.map((id) => all.get(id))
    expect(stayed(crowd.epochs())).toEqual(stayed(epochs))
  })

  test('a gateway dies meanwhile: nobody is locked out, and no device keeps two connections', async () => {
    const held = (await heldBy(1)).filter((id) => staying.includes(id))
    expect(held.length).toBeGreaterThan(10)
    const begun = effects().length
    const before = sendScripts(api, staying, 3, accepted)
    await until('work is under way', () => effects().length > begun + 15)
    await system.gateway(1).kill()
    const gatewayDied = Date.now()
    expect((await unfinished()).length).toBeGreaterThan(5)
    await before
    await system.startGateway(1)
    await until('all have a connection again', () => staying.every((id) => crowd.epochs().has(id)))
    // Those of the other one have noticed nothing.
    expect(cut()).toEqual(new Set(held))

    const newcomers = await startCrowd(system, { agents: 3, name: 'newcomer' }) // enrolled and admitted without Redis
    crowds.push(newcomers)
    for (const id of newcomers.ids) unknown.add(id)
    await sendScripts(api, [...staying.slice(0, 10), ...newcomers.ids], 0, accepted)

    // Two gateways that cannot hear of each other admit the same device, in the same millisecond.
    const double = await enroll(api, system, 'double')
    unknown.add(double.deviceId)
    const rivals = await admittedTogether(system.gatewayUrls, double.deviceToken)
    // The one that is outdated hears of it all the same: by the answer to what it says.
    const ended = rivals.map(({ closed }) => closed)
    expect(await Promise.race([...ended, sleep(20_000)])).toBe(closeCode('SUPERSEDED'))
    await sleep(Math.max(0, died + outageMs - Date.now(), gatewayDied + orphanedMs - Date.now()))
    expect(offline()).toEqual(new Set(leaving))
  })

  test('it comes back: nothing is lost, and in the end each device has one connection', async () => {
    const [, retired = ''] = leaving
    await system.startRedis()
    await sendScripts(api, staying, 0, accepted)
    await untilClean('all is done', judge, 60_000)
    await sleep(numbers.silentAfterMs) // every limit runs out once more under the returned Redis
    expect(await isAdmittedAnywhere(await crowd.token(retired))).toBe(false) // an empty Redis has forgotten nothing that matters

    await untilClean('rows, claims and agents agree', async () => {
      const rows = (await presenceRows(system.sql)).filter(({ deviceId }) => !leaving.includes(deviceId))
      const wanted = crowds.flatMap(({ ids }) => ids).filter((id) => !leaving.includes(id))
      const epochs = new Map(crowds.flatMap((one) => [...one.epochs()]))
      return [...presenceFaults(wanted, epochs, rows), ...(await claimFaults(system.redis.url, rows))]
    })
    await watch.stop()
    expect(offline()).toEqual(new Set(leaving))
    expect(watch.looks).toBeGreaterThan(100)
    expect(await judge()).toEqual([])
    expect(await brokenIn(system, crowds, accepted)).toEqual([])
    const planted = plantedIn(accepted, await commandRows(system.sql), effects())
    for (const [fault, found] of Object.entries(planted)) expect(found, fault).not.toEqual([])
  })

  /** Of those devices, the ones that a user does not see as online. */
  const notListed = async (ids: readonly string[]): Promise<string[]> => {
    const list = await api.want<{ devices: { id: string }[] }>(200, 'GET', '/devices?status=online&limit=500')
    const listed = new Set(list.devices.map(({ id }) => id))
    return ids.filter((id) => !listed.has(id))
  }

  /** Its credential dies by way of the exchange alone; that this takes 5 s at most is shown by the proof of revocations. */
  const retire = async (deviceId: string): Promise<void> => {
    await api.want(200, 'DELETE', `/devices/${deviceId}`)
    const isCut = () =>
      crowd.events.some((one) => one.number === crowd.number(deviceId) && one.kind === 'stopped')
    await until('its connection is cut', isCut, 20_000)
    expect(await isAdmittedAnywhere(await crowd.token(deviceId))).toBe(false)
  }

  const isAdmittedAnywhere = async (token: string): Promise<boolean> => {
    const answers = system.gatewayUrls.map((url) => isAdmitted(url, token))
    return (await Promise.all(answers)).some(Boolean)
  }
})
