import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from './harness/api.ts'
import { claimFaults } from './harness/claims.ts'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { type Accepted, commandRows, faultsOf, plantedIn } from './harness/judge.ts'
import { isAdmitted } from './harness/peer.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { numbers } from './harness/numbers.ts'
import { until, untilClean } from './harness/until.ts'
import { sendScripts } from './harness/work.ts'

/** Twice as long as the longest silence that a device may keep here. */
const outageMs = 2 * numbers.silentAfterMs

systemTests('Redis dies and comes back empty', () => {
  let system: System
  let api: Api
  let crowd: Crowd
  const accepted: Accepted[] = []
  const judge = async () => faultsOf(accepted, await commandRows(system.sql), crowd.executions())

  beforeAll(async () => {
    system = await startSystem({ gateways: 2 })
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 60, name: 'crowd', transports: mixed })
    await untilClean('all are there', async () =>
      presenceFaults(crowd.ids, crowd.epochs(), await presenceRows(system.sql)),
    )
  })
  afterAll(async () => {
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('nobody loses a connection, waits for work, or counts as offline; who leaves meanwhile does', async () => {
    const [vanished = '', retired = '', ...staying] = crowd.ids
    const leaving = [vanished, retired]
    const epochs = crowd.epochs()
    const watch = new PresenceWatch(system.sql)

    const before = sendScripts(api, staying, 1, accepted)
    await until('work is under way', () => crowd.executions().length > 20)
    await system.redis.kill()
    const died = Date.now()
    const caught = (await commandRows(system.sql)).filter(({ finishedAt }) => !finishedAt)
    expect(caught.length).toBeGreaterThan(10)
    await before

    for (let round = 0; Date.now() - died < outageMs; round++) {
      await sendScripts(api, staying.slice(round % 10, (round % 10) + 8), 0, accepted)
      const list = await api.want<{ devices: { id: string }[] }>(
        200,
        'GET',
        '/devices?status=online&limit=500',
      )
      const listed = new Set(list.devices.map(({ id }) => id))
      expect(staying.filter((id) => !listed.has(id))).toEqual([])
      if (round === 0) crowd.fleet.agents.find(({ deviceId }) => deviceId === vanished)?.agent.kill()
      if (round === 1) await retire(retired)
      await sleep(3_000)
    }
    await untilClean('all is done, without Redis', judge, 20_000)
    await until('who left counts as offline', () => watch.offline.has(vanished), 20_000)
    await system.startRedis()

    await sendScripts(api, staying, 0, accepted)
    await untilClean('all is done', judge, 60_000)
    await sleep(numbers.silentAfterMs) // every limit runs out once more under the returned Redis
    expect(new Set((await watch.stop()).keys())).toEqual(new Set(leaving))
    expect(await admitted(await crowd.token(retired))).toBe(false) // an empty Redis has forgotten nothing that matters
    expect(watch.looks).toBeGreaterThan(100)

    await untilClean('rows, claims and agents agree', async () => {
      const rows = (await presenceRows(system.sql)).filter(({ deviceId }) => !leaving.includes(deviceId))
      return [
        ...presenceFaults(staying, crowd.epochs(), rows),
        ...(await claimFaults(system.redis.url, rows)),
      ]
    })
    const unchanged = [...epochs].filter(([id]) => !leaving.includes(id))
    expect(new Map([...crowd.epochs()].filter(([id]) => !leaving.includes(id)))).toEqual(new Map(unchanged))
    expect(crowd.events.filter(({ kind }) => kind === 'disconnected')).toEqual([])
    expect(await judge()).toEqual([])
    const planted = plantedIn(accepted, await commandRows(system.sql), crowd.executions())
    for (const [fault, found] of Object.entries(planted)) expect(found, fault).not.toEqual([])
  })

  /** Its credential dies within 5 s, by way of the exchange alone. */
  const retire = async (deviceId: string): Promise<void> => {
    await api.want(200, 'DELETE', `/devices/${deviceId}`)
    const cut = () =>
      crowd.events.some((one) => one.number === crowd.number(deviceId) && one.kind === 'stopped')
    await until('its connection is cut', cut, 5_000)
    expect(await admitted(await crowd.token(deviceId))).toBe(false)
  }

  const admitted = async (token: string): Promise<boolean> => {
    const answers = system.gatewayUrls.map((url) => isAdmitted(url, token))
    return (await Promise.all(answers)).some(Boolean)
  }
})
