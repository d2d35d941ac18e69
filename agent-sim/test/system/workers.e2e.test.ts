import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../tools/services.ts'
import { claimFaults } from './harness/claims.ts'
import { type Crowd, startCrowd } from './harness/crowd.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { systemTests } from './harness/suite.ts'
import { startSystem, type System } from './harness/system.ts'
import { until, untilClean } from './harness/until.ts'

const restarts = 'svc_edge_supervisor_restarts_total{reason="sigkill"}'

interface WorkerLine {
  pid: number
  node: string
}

systemTests('two workers on one port', () => {
  let system: System
  let crowd: Crowd
  let metricsPort: number
  const presence = async () => {
    const rows = await presenceRows(system.sql)
    return [
      ...presenceFaults(crowd.ids, crowd.epochs(), rows),
      ...(await claimFaults(system.redis.url, rows)),
    ]
  }
  const heldBy = async (node: string) =>
    (await presenceRows(system.sql)).filter((row) => row.node === node).map(({ deviceId }) => deviceId)
  const workers = (): WorkerLine[] =>
    system
      .gateway(0)
      .log()
      .split('\n')
      .filter((line) => line.includes('accepting agents'))
      .map((line) => JSON.parse(line) as { pid: number; instance: string })
      .map(({ pid, instance }) => ({ pid, node: instance }))
  const metric = async (line: string) => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    return Number(
      text
        .split('\n')
        .find((one) => one.startsWith(`${line} `))
        ?.slice(line.length + 1) ?? 0,
    )
  }

  beforeAll(async () => {
    metricsPort = await freePort()
    const variables = { GATEWAY_WORKERS: '2', GATEWAY_METRICS_PORT: String(metricsPort) }
    system = await startSystem({ variables })
    await until('both accept agents', () => workers().length === 2)
    crowd = await startCrowd(system, { agents: 200, name: 'crowd' })
    await untilClean('all are there', presence)
  })
  afterAll(async () => {
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('agents spread over both; when one is killed its own come back, nobody else notices, none is seen offline', async () => {
    const [doomed, other] = workers()
    const held = await heldBy(doomed?.node ?? '')
    expect(held.length).toBeGreaterThan(40)
    expect((await heldBy(other?.node ?? '')).length).toBe(200 - held.length)
    const watch = new PresenceWatch(system.sql)
    const before = crowd.events.length
    process.kill(doomed?.pid ?? 0, 'SIGKILL')
    await until('it has ended', async () => (await metric(restarts)) === 1)
    await until('it is replaced', async () => (await metric('svc_edge_supervisor_workers')) === 2)
    await untilClean('all are back', presence)
    const lost = crowd.events.slice(before).filter(({ kind }) => kind === 'disconnected')
    expect(new Set(lost.map(({ number }) => number))).toEqual(new Set(held.map((id) => crowd.number(id))))
    expect([...(await watch.stop()).keys()]).toEqual([])
    expect(watch.looks).toBeGreaterThan(5)
    expect(await heldBy(doomed?.node ?? '')).toEqual([])
    expect(new Set(workers().map(({ node }) => node)).size).toBe(3)
    expect(await metric(restarts)).toBe(1)
    const devices = await Promise.all([1, 2].map((worker) => metric(`svc_edge_devices{worker="${worker}"}`)))
    expect(devices.reduce((sum, count) => sum + count, 0)).toBe(200)
  })
})
