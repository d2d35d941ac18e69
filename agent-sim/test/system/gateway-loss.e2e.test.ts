import { setTimeout as sleep } from 'node:timers/promises'
import { transportKinds } from '@svc/agent-sim'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from './harness/api.ts'
import { brokenIn } from './harness/checker/crowds.ts'
import { claimFaults } from './harness/claims.ts'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { type Accepted, commandRows, faultsOf, plantedIn } from './harness/judge.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { until, untilClean } from './harness/until.ts'
import { sendScripts } from './harness/work.ts'

systemTests('a gateway that goes away', () => {
  let system: System
  let api: Api
  let crowd: Crowd
  const accepted: Accepted[] = []
  const judge = async () => faultsOf(accepted, await commandRows(system.sql), crowd.executions())
  const presence = async () => {
    const rows = await presenceRows(system.sql)
    return [
      ...presenceFaults(crowd.ids, crowd.epochs(), rows),
      ...(await claimFaults(system.redis.url, rows)),
    ]
  }
  const heldBy = async (index: number) =>
    (await presenceRows(system.sql))
      .filter(({ node }) => node === system.nodeOf(index))
      .map((row) => row.deviceId)
  const everyKind = new Set(transportKinds)
  const unfinished = async () => (await commandRows(system.sql)).filter(({ finishedAt }) => !finishedAt)

  beforeAll(async () => {
    system = await startSystem({ gateways: 2 })
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 80, name: 'crowd', transports: mixed })
    await untilClean('all are there', presence)
  })
  afterAll(async () => {
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('SIGKILL amid commands: nothing accepted is lost or run twice, and all come back, none seen offline', async () => {
    const watch = new PresenceWatch(system.sql)
    const held = await heldBy(0)
    expect(held.length).toBeGreaterThan(20)
    expect(crowd.vias(held)).toEqual(everyKind)
    const sending = sendScripts(api, [...crowd.ids, ...crowd.ids], 1, accepted)
    await until('work is under way', () => crowd.executions().length > 60)
    expect((await dieBeforeItHears(held)).length).toBeGreaterThan(0)
    const hit = new Set((await unfinished()).map(({ deviceId }) => deviceId))
    expect(held.filter((id) => hit.has(id)).length).toBeGreaterThan(5)
    expect(crowd.vias(held.filter((id) => hit.has(id)))).toEqual(everyKind)
    await sleep(500)
    await system.startGateway(0)
    await sending
    await untilClean('all is done', judge, 60_000)
    await untilClean('all are back', presence)
    const lost = crowd.events.filter(({ kind }) => kind === 'disconnected')
    expect(new Set(lost.map(({ number }) => number))).toEqual(new Set(held.map((id) => crowd.number(id))))
    expect([...(await watch.stop()).keys()]).toEqual([])

    const planted = plantedIn(accepted, await commandRows(system.sql), crowd.executions())
    for (const [fault, found] of Object.entries(planted)) expect(found, fault).not.toEqual([])
    const [one] = await presenceRows(system.sql)
    expect(await claimFaults(system.redis.url, one ? [{ ...one, epoch: one.epoch - 1 }] : [])).toHaveLength(1)
  })

  /**
   * Has the gateway hand on many commands in one go, and die before it has heard that they were taken. Resolves with those that
   * agents have in hand while the server believes that they are still to be offered.
   */
  const dieBeforeItHears = async (held: readonly string[]): Promise<string[]> => {
    const gateway = system.gateway(0)
    gateway.signal('SIGSTOP')
    await sendScripts(api, held, 0.2, accepted)
    const numbers = new Set(held.map((id) => crowd.number(id)))
    const taken = crowd.next((event) => event.kind === 'command' && numbers.has(event.number))
    gateway.signal('SIGCONT')
    await taken
    gateway.signal('SIGSTOP')
    await sleep(500)
    await gateway.kill()
    const inHand = new Set(crowd.events.flatMap((event) => (event.kind === 'command' ? [event.id] : [])))
    const rows = await commandRows(system.sql)
    return rows.filter(({ id, status }) => status === 'queued' && inHand.has(id)).map(({ id }) => id)
  }

  test('SIGTERM: it ends with 0, its agents move to the other, no work is lost, and none is seen offline', async () => {
    const watch = new PresenceWatch(system.sql)
    const held = await heldBy(1) // after what came before most are here
    expect(held.length).toBeGreaterThan(20)
    expect(crowd.vias(held)).toEqual(everyKind)
    const before = crowd.events.length
    const sending = sendScripts(api, [...crowd.ids, ...crowd.ids], 0.5, accepted)
    await until('work is under way', async () => (await unfinished()).length > 10)
    expect(await system.gateway(1).terminate()).toBe('ended with code 0')
    await sending
    await untilClean('all is done', judge, 60_000)
    await untilClean('all are there', presence)
    const moved = crowd.events.slice(before).filter(({ kind }) => kind === 'moving')
    expect(new Set(moved.map(({ number }) => number))).toEqual(new Set(held.map((id) => crowd.number(id))))
    expect((await heldBy(0)).length).toBe(crowd.ids.length)
    expect([...(await watch.stop()).keys()]).toEqual([])
    expect(watch.looks).toBeGreaterThan(10)
    expect(await brokenIn(system, [crowd], accepted)).toEqual([])
  })

  test('the watch for devices that count as offline does see one', async () => {
    const watch = new PresenceWatch(system.sql)
    const [id = ''] = crowd.ids
    await until('it is seen', async () => {
      // The next word of the device puts it right, perhaps before the next look.
      await system.sql`update devices set connectivity = 'offline' where id = ${id}`
      return watch.offline.has(id)
    })
    await watch.stop()
  })
})
