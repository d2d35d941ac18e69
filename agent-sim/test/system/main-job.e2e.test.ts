import { setTimeout as sleep } from 'node:timers/promises'
import { kindsIn } from '@svc/agent-sim'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Account } from './harness/account.ts'
import type { Api } from './harness/api.ts'
import { type Carrier, carriers } from './harness/carriers.ts'
import { type Crowd, startCrowd } from './harness/crowd.ts'
import { isAdmitted } from './harness/peer.ts'
import { presenceFaults, presenceRows } from './harness/presence.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { numbers } from './harness/numbers.ts'
import { until, untilClean } from './harness/until.ts'

/** The agents of one carrier, and everything that this file has them do, judged together. */
interface Job {
  crowd: Crowd
  account: Account
}

systemTests('the main job', () => {
  let system: System
  let api: Api
  const jobs = new Map<Carrier, Job>()

  beforeAll(async () => {
    system = await startSystem()
    api = await system.admin()
    const begin = async (carrier: Carrier) => {
      const { agents, key, transports } = carrier
      const crowd = await startCrowd(system, { agents, name: key, transports })
      const account = new Account(system)
      account.include(crowd)
      jobs.set(carrier, { crowd, account })
    }
    await Promise.all(carriers.map(begin))
  })
  afterAll(async () => {
    for (const { crowd } of jobs.values()) await crowd.fleet.kill()
    await system?.close()
  })

  /** The same test for each carrier, at the same time on the same system. */
  const overEach = (name: string, run: (job: Job, carrier: Carrier) => Promise<void>) =>
    describe(name, () => {
      const named = carriers.map((carrier) => [carrier.name, carrier] as const)
      test.concurrent.each(named)('over %s', async (_name, carrier) => {
        const job = jobs.get(carrier)
        if (!job) throw new Error(`nobody is there over ${carrier.name}`)
        await run(job, carrier)
      })
    })

  /** Listed statuses of devices whose name begins so that differ from what is known to be so. */
  const statusFaults = async (key: string, truth: ReadonlyMap<string, string>): Promise<string[]> => {
    const answer = await api.want<{
      devices: { id: string; status: string; hostname: string }[]
    }>(200, 'GET', '/devices?limit=500')
    const devices = answer.devices.filter(({ hostname }) => hostname.startsWith(`${key}-`))
    const listed = new Map(devices.map((device) => [device.id, device.status]))
    const wrong = [...truth].filter(([id, status]) => listed.get(id) !== status)
    const unknown = devices.filter(({ id }) => !truth.has(id))
    return [
      ...wrong.map(([id, status]) => `${id} is ${status} and listed as ${listed.get(id)}`),
      ...unknown.map(({ id }) => `${id} is listed and does not exist`),
    ]
  }

  overEach(
    'agents enroll, connect, beat, and are listed with their true status',
    async ({ crowd }, carrier) => {
      const { key, transports } = carrier
      expect(crowd.vias(crowd.ids)).toEqual(new Set(kindsIn(transports)))
      const leaver = await startCrowd(system, { agents: 2, name: `${key}-leaver`, transports })
      await leaver.fleet.stop()
      const truth = new Map([
        ...crowd.ids.map((id) => [id, 'online'] as const),
        ...leaver.ids.map((id) => [id, 'offline'] as const),
      ])
      await untilClean('the list says who is there', () => statusFaults(key, truth))
      await untilClean('rows and agents agree', async () =>
        presenceFaults(crowd.ids, crowd.epochs(), await presenceRows(system.sql)),
      )

      const before = new Map((await presenceRows(system.sql)).map((row) => [row.deviceId, row.lastSeenAt]))
      await sleep(2 * numbers.heartbeatMs)
      const silent = (await presenceRows(system.sql)).filter(
        ({ deviceId, lastSeenAt }) =>
          crowd.ids.includes(deviceId) && Number(lastSeenAt) <= Number(before.get(deviceId)),
      )
      expect(silent).toEqual([])

      const [liar = '', ...others] = crowd.ids
      let faults: string[] = []
      await until('the lie is noticed', async () => {
        // The next word of the device puts it right, perhaps before it is looked at.
        await system.sql`update devices set connectivity = 'offline' where id = ${liar}`
        faults = await statusFaults(key, truth)
        return faults.length > 0
      })
      expect(faults).toEqual([`${liar} is online and listed as offline`])
      await untilClean('its next heartbeat puts that right', () => statusFaults(key, truth))
      expect(
        presenceFaults([liar], crowd.epochs(), [
          { deviceId: liar, connectivity: 'online', node: 'x', epoch: 1, live: false, lastSeenAt: null },
        ]),
      ).toHaveLength(2)
      expect(presenceFaults([others[0] ?? ''], new Map(), [])).toHaveLength(1)
    },
  )

  overEach(
    'a command of each type reaches its agent, runs once, and its result is read back',
    async (job) => {
      const { crowd, account } = job
      const work = crowd.ids.slice(0, 25).map(async (deviceId, at) => {
        const [processes, script, failing, inventory] = await Promise.all([
          api.send(deviceId, 'list_processes', { limit: 3 }),
          api.send(deviceId, 'run_script', { interpreter: 'sh', content: `echo out ${at}\necho err >&2` }),
          api.send(deviceId, 'run_script', { interpreter: 'sh', content: `echo bad ${at}\nexit 3` }),
          api.send(deviceId, 'refresh_inventory'),
        ])
        account.accepted.push(
          { id: processes, deviceId },
          { id: script, deviceId, stdout: `out ${at}\n` },
          { id: failing, deviceId, end: 'failed', stdout: `bad ${at}\n` },
          { id: inventory, deviceId },
        )
        const views = await Promise.all(
          [processes, script, failing, inventory].map((id) => api.ended(deviceId, id)),
        )
        expect(views).toMatchObject([
          { status: 'succeeded', result: { limit: 3, processes: { length: 3 } } },
          { status: 'succeeded', exitCode: 0, stdout: { text: `out ${at}\n` }, stderr: { text: 'err\n' } },
          { status: 'failed', exitCode: 3, stdout: { text: `bad ${at}\n` } },
          {
            status: 'succeeded',
            result: { collected: expect.arrayContaining(['hardware', 'os', 'disks']) as string[] },
          },
        ])
      })
      await Promise.all(work)
      expect(await account.faults()).toEqual([])
      expect(await account.broken()).toEqual([])
      for (const [fault, found] of Object.entries(await account.planted()))
        expect(found, fault).not.toEqual([])
    },
  )

  overEach(
    'a command for a device that is away waits for it and runs once; one that expires never runs',
    async ({ account }, { key, transports }) => {
      const away = await startCrowd(system, { agents: 1, name: `${key}-away`, transports })
      account.include(away)
      const [deviceId = ''] = away.ids
      await away.fleet.kill()
      const gone = async () =>
        (await presenceRows(system.sql)).some((row) => row.deviceId === deviceId && row.node === null)
      await until('the lost connection is known', gone)

      const waiting = await api.send(deviceId, 'run_script', { interpreter: 'sh', content: 'echo patient' })
      const soon = new Date(Date.now() + 1_500).toISOString()
      const late = await api.send(
        deviceId,
        'run_script',
        { interpreter: 'sh', content: 'echo late' },
        { expiresAt: soon },
      )
      account.accepted.push(
        { id: waiting, deviceId, stdout: 'patient\n' },
        { id: late, deviceId, end: 'expired' },
      )
      expect(await api.ended(deviceId, late)).toMatchObject({ status: 'expired' })
      expect(await api.command(deviceId, waiting)).toMatchObject({ status: 'queued' })
      expect(away.executions()).toEqual([])

      const back = await startCrowd(system, { agents: 1, name: `${key}-away`, transports })
      expect(back.ids).toEqual([deviceId])
      expect(await api.ended(deviceId, waiting)).toMatchObject({ status: 'succeeded' })
      await sleep(numbers.commandLeaseMs + 2 * numbers.heartbeatMs) // time enough for what should not come
      expect(await account.faults()).toEqual([])
      expect(await account.broken()).toEqual([])
      const ranLate = { commandId: late, deviceId, type: 'run_script', at: Date.now() }
      expect(await account.faults([ranLate])).toEqual([`command ${late} ran 1 times, not 0`])
      await back.fleet.stop()
    },
  )

  overEach(
    'DELETE cuts the live connection and refuses the token, within 5 s',
    async ({ crowd }, carrier) => {
      const [victim = '', neighbour = ''] = crowd.ids
      const [dead, alive] = await Promise.all([crowd.token(victim), crowd.token(neighbour)])
      const number = crowd.number(victim)
      const began = Date.now()
      await api.want(200, 'DELETE', `/devices/${victim}`)
      await until(
        'it is cut',
        () => crowd.events.some((one) => one.number === number && one.kind === 'stopped'),
        5_000,
      )
      const stopped = crowd.events.find((one) => one.number === number && one.kind === 'stopped')
      expect(stopped).toMatchObject({ reason: 'DECOMMISSIONED' })
      expect((stopped?.at ?? 0) - began).toBeLessThan(5_000)

      const url = carrier.url(system)
      expect(await isAdmitted(url, dead)).toBe(false)
      expect(await isAdmitted(url, alive)).toBe(true) // what is asked of a dead token is answered otherwise for a live one
      const refusal = await api.ask<{ error: { code: string } }>('POST', `/devices/${victim}/commands`, {
        type: 'refresh_inventory',
      })
      expect(refusal).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } })
      const neighbours = new Set(
        crowd.events.filter((one) => one.at >= began && one.kind === 'stopped').map((one) => one.number),
      )
      expect([...neighbours]).toEqual([number])
    },
  )
})
