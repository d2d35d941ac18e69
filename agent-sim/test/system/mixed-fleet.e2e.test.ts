import { setTimeout as sleep } from 'node:timers/promises'
import { type Mishap, transportKinds } from '@svc/agent-sim'
import { svc } from '@svc/proto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Account } from './harness/account.ts'
import type { Api } from './harness/api.ts'
import { type Crowd, startCrowd } from './harness/crowd.ts'
import { byHand, type Hand } from './harness/hand.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { until, untilClean } from './harness/until.ts'
import { newScript, sendScripts } from './harness/work.ts'

/** Longer than a gateway takes to hand something on, shorter than it takes to believe that Redis is gone. */
const standstillMs = 700

systemTests('one fleet over three transports', () => {
  let system: System
  let api: Api

  beforeAll(async () => {
    system = await startSystem()
    api = await system.admin()
  })
  afterAll(() => system?.close())

  /** Runs it with a crowd that is mixed evenly, and an account of what it does. */
  const withCrowd = async (
    options: Partial<Parameters<typeof startCrowd>[1]>,
    run: (crowd: Crowd, account: Account) => Promise<void>,
  ) => {
    const transports = { websocket: 1, mqtt: 1, 'mqtt-ws': 1 }
    const crowd = await startCrowd(system, { agents: 15, name: 'mixed', transports, ...options })
    const account = new Account(system)
    account.include(crowd)
    try {
      await run(crowd, account)
    } finally {
      await crowd.fleet.kill()
    }
  }

  test('commands to all of them are carried out, each once, by whatever transport', async () => {
    await withCrowd({}, async (crowd, account) => {
      await sendScripts(api, [...crowd.ids, ...crowd.ids], 0, account.accepted)
      await untilClean('all is done', () => account.faults())
      expect(await account.broken()).toEqual([])
      const { transports } = crowd.fleet.stats()
      for (const kind of transportKinds) {
        const agents = transports[kind]?.agents ?? 0
        expect(agents, kind).toBeGreaterThan(3)
        expect(transports[kind], kind).toMatchObject({ connected: agents, commands: 2 * agents, refused: 0 })
      }
      expect(crowd.events.filter(({ kind }) => kind === 'disconnected')).toEqual([])
      for (const [fault, found] of Object.entries(await account.planted()))
        expect(found, fault).not.toEqual([])
    })
  })

  test('under churn whoever goes comes back by the same way, and what was accepted is done once', async () => {
    const struck: [number, Mishap][] = []
    const churn = { perMinute: 400, seed: 5 } // 1.6 a second
    const told = { churn, struck: (number: number, mishap: Mishap) => struck.push([number, mishap]) }
    await withCrowd({ name: 'churned', agents: 24, ...told }, async (crowd, account) => {
      const vias = new Map(crowd.fleet.agents.map(({ deviceId, via }) => [deviceId, via]))
      const began = Date.now()
      for (let round = 0; round < 4; round++) {
        await sendScripts(api, crowd.ids, 0, account.accepted)
        await sleep(Math.max(0, began + (round + 1) * 1_500 - Date.now()))
      }
      for (const one of account.accepted) one.mayEnd = ['interrupted']
      await until('every mishap struck, and every transport', () => {
        const seen = struck.flatMap(([number, mishap]) => [mishap, vias.get(crowd.ids[number - 1] ?? '')])
        return new Set(seen).size === 6
      })
      await untilClean('all is done', () => account.faults())
      expect(await account.broken()).toEqual([])
      const done = (await account.rows()).filter(({ status }) => status === 'succeeded')
      expect(done.length).toBeGreaterThan(0.5 * account.accepted.length)
      expect(crowd.fleet.stats().enrolled).toBe(24)
      expect(crowd.fleet.stats().connects).toBeGreaterThan(24)
      expect(new Map(crowd.fleet.agents.map(({ deviceId, via }) => [deviceId, via]))).toEqual(vias)
    })
  })

  /**
   * A device has its result acknowledged, forgets it, and the gateway dies at once, while Redis takes nothing. Resolves with what
   * was acknowledged and is lost.
   */
  const acknowledgedAndLost = async (variables: Record<string, string> = {}): Promise<string[]> => {
    await system.gateway(0).kill()
    await system.startGateway(0, variables)
    const { deviceId, deviceToken } = await enroll()
    const url = system.mqttUrls[0] ?? ''
    const hand = await byHand(url, deviceToken)
    const id = await ordered(hand, deviceId)
    const result = { commandId: id, attempt: 1, outcome: svc.v1.Outcome.SUCCEEDED }
    const redis = new Redis(system.redis.url)
    let acknowledged = false
    try {
      await redis.call('CLIENT', 'PAUSE', '20000', 'WRITE')
      void hand.say({ commandResult: result }).then(
        () => (acknowledged = true),
        () => {}, // the connection ended before: it is not forgotten
      )
      await sleep(standstillMs)
      await system.gateway(0).kill()
    } finally {
      await redis.call('CLIENT', 'UNPAUSE')
      redis.disconnect()
    }
    await system.startGateway(0)
    const again = await byHand(url, deviceToken)
    if (!acknowledged) await again.say({ commandResult: result })
    const done = async () => (await api.command(deviceId, id)).status === 'succeeded'
    // What is lost does not come, however long it is waited for.
    const patienceMs = variables['SVC_TEST_WITHOUT'] ? 5_000 : 45_000
    const lost = await until('the result is there', done, patienceMs).then(
      () => [],
      () => [`the result of ${id} was acknowledged and is lost`],
    )
    again.drop()
    return lost
  }

  const enroll = () =>
    api.want<{ deviceId: string; deviceToken: string }>(201, 'POST', '/agents/enroll', {
      enrollmentKey: system.tenant.enrollmentKey,
      hostname: 'by-hand',
      osType: 'linux',
      architecture: 'amd64',
      agentVersion: '0.0.0',
    })

  /** A command that the device has been given. */
  const ordered = async (hand: Hand, deviceId: string): Promise<string> => {
    await hand.say({ heartbeat: {} })
    const id = await api.send(deviceId, 'run_script', newScript(0).payload)
    await hand.frame('command')
    await hand.say({ commandAck: { commandId: id, attempt: 1 } })
    return id
  }

  test('a QoS 1 acknowledgement means that it stands in the up-stream: no gateway that dies takes it along', async () => {
    expect(await acknowledgedAndLost()).toEqual([])
    expect(await acknowledgedAndLost({ SVC_TEST_WITHOUT: 'taken_when_accepted' })).toHaveLength(1)
  })
})
