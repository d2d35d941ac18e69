import { setTimeout as sleep } from 'node:timers/promises'
import { closeCode } from '@svc/proto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from './harness/api.ts'
import { claimFaults } from './harness/claims.ts'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { type Accepted, commandRows, faultsOf } from './harness/judge.ts'
import { dial, type Peer } from './harness/peer.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { numbers } from './harness/numbers.ts'
import { until, untilClean } from './harness/until.ts'
import { sendScripts } from './harness/work.ts'

systemTests('a gateway dies while Redis is gone', () => {
  let system: System
  let api: Api
  let crowd: Crowd
  const crowds: Crowd[] = []
  const accepted: Accepted[] = []
  const judge = async () =>
    faultsOf(
      accepted,
      await commandRows(system.sql),
      crowds.flatMap((one) => one.executions()),
    )

  beforeAll(async () => {
    system = await startSystem({ gateways: 2 })
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 50, name: 'crowd', transports: mixed })
    crowds.push(crowd)
    await untilClean('all are there', async () =>
      presenceFaults(crowd.ids, crowd.epochs(), await presenceRows(system.sql)),
    )
  })
  afterAll(async () => {
    for (const one of crowds) await one.fleet.kill()
    await system?.close()
  })

  test('nobody is locked out, nothing is lost, and in the end each device has one connection', async () => {
    const watch = new PresenceWatch(system.sql)
    const before = sendScripts(api, crowd.ids, 1, accepted)
    await until('work is under way', () => crowd.executions().length > 15)
    await system.redis.kill()
    const died = Date.now()
    await system.gateway(1).kill()
    await before
    await system.startGateway(1)

    await until('all have a connection again', () => crowd.epochs().size === crowd.ids.length)
    expect([...watch.offline.keys()]).toEqual([])
    const newcomers = await startCrowd(system, { agents: 3, name: 'newcomer' }) // enrolled and admitted without Redis
    crowds.push(newcomers)
    await sendScripts(api, [...crowd.ids.slice(0, 10), ...newcomers.ids], 0, accepted)

    // Two gateways that cannot hear of each other admit the same device, in the same millisecond.
    const double = await enroll()
    const rivals = await untilTogether(() =>
      Promise.all(system.gatewayUrls.map((url) => connected(url, double.deviceToken))),
    )
    const ended = rivals.map(({ peer }) => peer.closed)
    // The one that is outdated hears of it all the same: by the answer to what it says.
    expect(await Promise.race([...ended, sleep(20_000)])).toBe(closeCode('SUPERSEDED'))
    await sleep(Math.max(0, died + 3 * numbers.goneAfterMs - Date.now()))
    const unknown = new Set([...newcomers.ids, double.deviceId]) // offline until they were first heard of
    expect([...watch.offline.keys()].filter((id) => !unknown.has(id))).toEqual([])
    await system.startRedis()

    await untilClean('all is done', judge, 60_000)
    const all = [...crowd.ids, ...newcomers.ids]
    await untilClean('rows, claims and agents agree', async () => {
      const epochs = new Map([...crowd.epochs(), ...newcomers.epochs()])
      const rows = await presenceRows(system.sql)
      return [...presenceFaults(all, epochs, rows), ...(await claimFaults(system.redis.url, rows))]
    })
    await sleep(numbers.silentAfterMs) // every limit runs out once more
    for (const id of unknown) watch.offline.delete(id)
    expect([...(await watch.stop()).keys()]).toEqual([])
    expect(await judge()).toEqual([])
    for (const { peer } of rivals) peer.drop()
  })

  const enroll = () =>
    api.want<{ deviceId: string; deviceToken: string }>(201, 'POST', '/agents/enroll', {
      enrollmentKey: system.tenant.enrollmentKey,
      hostname: 'double',
      osType: 'linux',
      architecture: 'amd64',
      agentVersion: '0.0.0',
    })
})

interface Rival {
  peer: Peer
  epoch: number
}

async function connected(url: string, token: string): Promise<Rival> {
  const peer = await dial(url, token)
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  const answer = await peer.greet()
  if (!answer?.welcome) throw new Error('not admitted')
  peer.beat(numbers.heartbeatMs / 2)
  return { peer, epoch: answer.welcome.epoch ?? 0 }
}

/** Tries again until all are admitted in the same millisecond; epochs count microseconds. */
async function untilTogether(connect: () => Promise<Rival[]>): Promise<Rival[]> {
  for (let attempt = 1; ; attempt++) {
    const rivals = await connect()
    if (new Set(rivals.map(({ epoch }) => Math.floor(epoch / 1000))).size === 1 || attempt === 1_000)
      return rivals
    for (const { peer } of rivals) peer.drop()
  }
}
