import { names, RedisBus } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import { followGaps } from './gaps.ts'
import { readHint } from './hints.ts'
import { send } from './send.ts'

const url = inject('redisUrl')
const own = { connectionName: 'deaf-now-and-then' }
const [bus, workers] = [new RedisBus(url, own), new RedisBus(url)]
const redis = new Redis(url)
const on = await openPipeline({}, bus)
afterAll(async () => {
  redis.disconnect()
  await workers.close()
  await on.close()
  await bus.close()
})

/** Only that of our own bus: others are tested on the same Redis. */
async function killListener(): Promise<void> {
  const clients = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).split('\n')
  const mine = clients.find((line) => line.includes(`name=${own.connectionName}`))
  await redis.call('CLIENT', 'KILL', 'ID', /^id=(\d+)/.exec(mine ?? '')?.[1] ?? '')
}

test('whoever was deaf for a moment tells workers what has come to be owed', async () => {
  const told: string[] = []
  await workers.subscribe(names.workAll(), (payload) => told.push(...readHint(payload).owedDevices))
  await bus.subscribe(names.apiAll(), () => undefined)
  await expect.poll(() => [bus.up, workers.up]).toEqual([true, true])
  const [late = '', offered = '', old = ''] = await makeDevices(on, 3)
  const order = { type: 'list_processes' as const, args: {}, issuedBy: 'system' }
  for (const deviceId of [late, offered, old]) await on.db.tx((tx) => send(tx, { ...order, deviceId }))
  await on.sql`update commands set lease_until = now() + interval '1 minute' where device_id = ${offered}`
  await on.sql`update commands set created_at = now() - interval '1 hour', not_before = now() - interval '1 hour'
    where device_id = ${old}`
  const unfollow = followGaps({ db: on.db, bus, heartbeatIntervalMs: 60_000, log: on.deps.log })
  expect(told).toEqual([])
  await killListener()
  await expect.poll(() => told).toEqual([late])
  await unfollow()
})
