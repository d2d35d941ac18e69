import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FleetAgent, transportKinds } from '@svc/agent-sim'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { type Program, startProgram } from './harness/program.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { numbers } from './harness/numbers.ts'
import { until, untilClean } from './harness/until.ts'

/**
 * What may come on top of the time after which a silent device is offline: watermarks of shards at rest go up every 4.5 s, the
 * sweep looks every 0.3 s, and the machine may be busy.
 */
const slackMs = 4_500 + 300 + 3_000

/** Who is back so soon after its gateway died was heard of within the time of silence, at the latest one heartbeat before. */
const graceMs = numbers.goneAfterMs - numbers.heartbeatMs

systemTests('devices go offline when they should, and only then', () => {
  let system: System
  let crowd: Crowd
  let frozen: Program
  let frozenIds: string[]

  beforeAll(async () => {
    system = await startSystem()
    crowd = await startCrowd(system, { agents: 30, name: 'crowd', transports: mixed })
    frozen = await startProgram({
      entry: 'agent',
      args: [
        'fleet',
        '--agents',
        '3',
        '--prefix',
        'frozen-',
        '--state-dir',
        join(system.folder, 'frozen'),
      ].concat(
        ['--transport', 'websocket=1,mqtt=1,mqtt-ws=1'], // one of each
      ),
      env: { SVC_API: system.apiUrl, SVC_ENROLLMENT_KEY: system.tenant.enrollmentKey },
      ready: /connected/,
    })
    await until('all are there', async () => {
      const rows = await presenceRows(system.sql)
      return rows.length === 33 && rows.every(({ connectivity, live }) => connectivity === 'online' && live)
    })
    const rows = await system.sql<{ id: string }[]>`select id from devices where hostname like 'frozen-%'`
    frozenIds = rows.map(({ id }) => id)
    expect(frozenIds).toHaveLength(3)
  })
  afterAll(async () => {
    await frozen?.kill()
    await crowd?.fleet.kill()
    await system?.close()
  })

  /** One of each transport that is connected. */
  const oneOfEach = (): FleetAgent[] =>
    transportKinds.map((kind) => {
      const found = crowd.fleet.agents.find(({ via, agent }) => via === kind && agent.isConnected)
      if (!found) throw new Error(`nobody is connected over ${kind}`)
      return found
    })

  const lastSeen = async (id: string): Promise<number> => {
    const row = (await presenceRows(system.sql)).find(({ deviceId }) => deviceId === id)
    return Number(row?.lastSeenAt ?? 0)
  }

  test('vanished without a word, or frozen: offline after the time of silence, not before, and nobody else', async () => {
    const watch = new PresenceWatch(system.sql)
    const vanished = oneOfEach()
    frozen.signal('SIGSTOP')
    for (const { agent } of vanished) agent.kill()
    const silent = [...frozenIds, ...vanished.map(({ deviceId }) => deviceId)]
    const latest = Date.now() + numbers.goneAfterMs + slackMs
    await until('they count as offline', () => silent.every((id) => watch.offline.has(id)))
    for (const id of silent) {
      const at = watch.offline.get(id) ?? 0
      expect(at - (await lastSeen(id)), id).toBeGreaterThan(numbers.goneAfterMs)
      expect(at, id).toBeLessThan(latest)
    }
    expect(new Set(watch.offline.keys())).toEqual(new Set(silent))

    frozen.signal('SIGCONT')
    await until('the frozen are back', async () =>
      (await presenceRows(system.sql)).every(
        ({ deviceId, connectivity }) => !frozenIds.includes(deviceId) || connectivity === 'online',
      ),
    )
    expect(new Set((await watch.stop()).keys())).toEqual(new Set(silent))
  })

  test('a goodbye of a shutdown: offline at once', async () => {
    const watch = new PresenceWatch(system.sql)
    const polite = oneOfEach()
    const ids = polite.map(({ deviceId }) => deviceId)
    await until('earlier ones are noted', () => watch.looks > 1)
    const noted = new Set(watch.offline.keys())
    const began = Date.now()
    await Promise.all(polite.map(({ agent }) => agent.stop('SHUTDOWN')))
    await until('they count as offline', () => ids.every((id) => watch.offline.has(id)))
    // Silence alone would have taken longer.
    for (const id of ids) expect((watch.offline.get(id) ?? 0) - began).toBeLessThan(graceMs)
    expect(new Set((await watch.stop()).keys())).toEqual(new Set([...noted, ...ids]))
  })

  test('the whole edge restarts: who comes back within the grace is never offline, who does not is', async () => {
    const there = crowd.fleet.agents.filter(({ agent }) => agent.isConnected)
    const [lost, ...staying] = there
    if (!lost) throw new Error('nobody is there')
    const watch = new PresenceWatch(system.sql)
    await until('earlier ones are noted', () => watch.looks > 1)
    const noted = new Set(watch.offline.keys())
    lost.agent.kill()
    const killedAt = Date.now()
    await system.gateway(0).kill()
    await sleep(500)
    await system.startGateway(0)
    await untilClean('all are back', async () =>
      presenceFaults(
        staying.map(({ deviceId }) => deviceId),
        crowd.epochs(),
        await presenceRows(system.sql),
      ),
    )
    await until('the one that stays away counts as offline', () => watch.offline.has(lost.deviceId), 60_000)
    // Where the machine is busy the gateway takes long to start, and a retry may come after the grace: then offline is right.
    const late = staying.filter(({ number }) => backAt(number, killedAt) - killedAt > graceMs)
    expect(late.length).toBeLessThan(staying.length)
    const mayBe = new Set([...noted, lost.deviceId, ...frozenIds, ...late.map(({ deviceId }) => deviceId)])
    expect([...(await watch.stop()).keys()].filter((id) => !mayBe.has(id))).toEqual([])
  })

  /** When the device was first admitted after that. */
  const backAt = (number: number, since: number): number =>
    crowd.events.find((event) => event.kind === 'connected' && event.number === number && event.at > since)
      ?.at ?? Number.POSITIVE_INFINITY
})
