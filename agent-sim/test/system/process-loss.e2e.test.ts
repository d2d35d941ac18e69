import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from './harness/api.ts'
import { brokenIn } from './harness/checker/crowds.ts'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { type Accepted, commandRows, faultsOf, plantedIn } from './harness/judge.ts'
import { presenceFaults, presenceRows, PresenceWatch } from './harness/presence.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { until, untilClean } from './harness/until.ts'
import { inParallel, newScript, sendScripts } from './harness/work.ts'

interface Order {
  key: string
  deviceId: string
  body: { type: string; payload: { interpreter: string; content: string } }
  stdout: string
  /** ids that were answered to this key */
  answered: Set<string>
  attempts: number
}

systemTests('a control-plane process that dies', () => {
  let system: System
  let api: Api
  let crowd: Crowd
  const accepted: Accepted[] = []
  const judge = async () => faultsOf(accepted, await commandRows(system.sql), crowd.executions())
  const presence = async () => presenceFaults(crowd.ids, crowd.epochs(), await presenceRows(system.sql))

  beforeAll(async () => {
    system = await startSystem()
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 60, name: 'crowd', transports: mixed })
    await untilClean('all are there', presence)
  })
  afterAll(async () => {
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('worker SIGKILL amid commands: what was accepted is done once, and none is seen offline', async () => {
    const watch = new PresenceWatch(system.sql)
    const sending = sendScripts(api, [...crowd.ids, ...crowd.ids], 0.5, accepted)
    await until('work is under way', () => crowd.executions().length > 30)
    await system.worker.kill()
    const rows = await commandRows(system.sql)
    expect(rows.filter(({ finishedAt }) => !finishedAt).length).toBeGreaterThan(10)
    await sending // the API takes work without a worker
    await sleep(1_000)
    await system.startRole('worker')
    await untilClean('all is done', judge, 60_000)
    await untilClean('all are there', presence)
    expect([...(await watch.stop()).keys()]).toEqual([])
    expect(crowd.events.filter(({ kind }) => kind === 'disconnected')).toEqual([])
    expect(await brokenIn(system, [crowd], accepted)).toEqual([])
    const planted = plantedIn(accepted, await commandRows(system.sql), crowd.executions())
    for (const [fault, found] of Object.entries(planted)) expect(found, fault).not.toEqual([])
  })

  /** Repeats a POST with its key until it is answered 201, as a client on a bad line would. */
  const insist = async (order: Order): Promise<void> => {
    for (;;) {
      order.attempts++
      const answer = await api
        .ask<{ id: string }>('POST', `/devices/${order.deviceId}/commands`, order.body, {
          'idempotency-key': order.key,
        })
        .catch(() => undefined)
      if (answer?.status === 201) {
        order.answered.add(answer.body.id)
        return
      }
      if (answer && answer.status < 500) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      await sleep(100)
    }
  }

  test('API SIGKILL amid POSTs that are repeated with their key: each command exists once and runs once', async () => {
    const watch = new PresenceWatch(system.sql)
    const orders = Array.from({ length: 150 }, (_, at): Order => {
      const { payload, stdout } = newScript(0)
      const deviceId = crowd.ids[at % crowd.ids.length] ?? ''
      const body = { type: 'run_script', payload }
      return { key: randomUUID(), deviceId, body, stdout, answered: new Set(), attempts: 0 }
    })
    const answered = () => orders.filter((order) => order.answered.size > 0).length
    const sending = inParallel(orders, insist)
    await until('some are answered', () => answered() > 30)
    await system.api.kill()
    expect(answered()).toBeLessThan(orders.length)
    await system.startRole('api')
    await sending
    expect(orders.filter(({ attempts }) => attempts > 1).length).toBeGreaterThan(0)

    await inParallel(orders, insist) // what was answered is answered alike
    const perKey = () => orders.filter((order) => order.answered.size !== 1).map(({ key }) => key)
    expect(perKey()).toEqual([])
    for (const {
      answered: [id = ''],
      deviceId,
      stdout,
    } of orders)
      accepted.push({ id, deviceId, stdout })
    await untilClean('all is done', judge)
    await untilClean('all are there', presence)
    expect([...(await watch.stop()).keys()]).toEqual([])
    const asked = orders.map(({ key, deviceId, body, answered: [id = ''] }) => {
      return { key, deviceId, content: body.payload.content, told: { id } }
    })
    expect(await brokenIn(system, [crowd], accepted, { asked })).toEqual([])

    // Without what the database remembers of keys, a repeated request is a second one, and that is noticed.
    const [first] = orders
    if (!first) throw new Error('there are no orders')
    await system.sql`delete from idempotency`
    await insist(first)
    expect(perKey()).toEqual([first.key])
    await until('the second one is seen', async () => (await judge()).length > 0)
    expect(await brokenIn(system, [crowd], accepted, { asked })).toContainEqual(
      expect.stringMatching(/^\(g\) the request for .* exists 2 times$/),
    )
  })
})
