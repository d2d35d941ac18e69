import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { names, RedisBus } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { afterAll, test } from 'vitest'
import { startRedis } from '../../tools/services.ts'
import {
  edgeMessages,
  eventually,
  framesIn,
  handUp,
  item,
  makeDevices,
  makeNode,
  openPipeline,
} from '../test/harness/pipeline.ts'
import { dispatch } from './engines/work/hints.ts'
import { send } from './engines/work/send.ts'
import { startWorker } from './worker.ts'

// One of its own: it is emptied while others would still use it.
const folder = mkdtempSync(join(tmpdir(), 'svc-worker-redis-'))
const server = await startRedis({ dir: folder })
const { url } = server
const redis = new Redis(url)
const numbers = { workerLeaseMs: 1_000, workerRenewMs: 80, readBlockMs: 100, retryMs: 20, retryMaxMs: 100 }
const on = await openPipeline(numbers, new RedisBus(url))
const gatewayBus = new RedisBus(url)
const { sql, db } = on
await makeNode(on, 'n1')
const edge = await edgeMessages(gatewayBus, 'n1')

const start = (node: string) =>
  startWorker({ ...on.deps, ports: { ...on.deps.ports, node }, metrics: new Registry() })

afterAll(async () => {
  await Promise.all([gatewayBus.close(), on.close()])
  redis.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const shards = [...Array(16).keys()]
const online = async () =>
  (await sql<{ n: number }[]>`select count(*)::int as n from devices where status = 'online'`)[0]?.n
const feed = async (ids: string[], epoch: number) => {
  for (const shard of shards) {
    const own = ids.filter((_, i) => i % 16 === shard)
    await handUp(
      gatewayBus,
      'n1',
      shard,
      own.map((id) => item.beat(id, epoch)),
    )
  }
}

test('over Redis: shards are shared, a command makes its round, and an emptied Redis is survived', async () => {
  const ids = await makeDevices(on, 48, { shards })
  await eventually(() => gatewayBus.up && on.bus.up, 'the bus')
  await feed(ids, 7)
  const [a, b] = [await start('a'), await start('b')]
  await eventually(async () => (await online()) === 48, 'everybody online')

  const id = ids[0] ?? ''
  const sent = await db.tx((tx) =>
    send(tx, { deviceId: id, type: 'refresh_inventory', args: {}, issuedBy: 'system' }),
  )
  await eventually(async () => {
    // A hint that falls between two owners of the shard is lost, as hints may be.
    await dispatch({ bus: gatewayBus }, id)
    return framesIn(edge).some((frame) => frame.command)
  }, 'the command')
  await handUp(gatewayBus, 'n1', 0, [
    item.result(id, 7, sent?.id ?? '', {
      outcome: svc.v1.Outcome.SUCCEEDED,
      result: Buffer.from('{"collected":[]}'),
    }),
  ])
  await eventually(() => framesIn(edge).some((frame) => frame.resultAck), 'the acknowledgement')

  await redis.flushall() // streams, groups and all
  await sql`update devices set connectivity = 'offline'`
  await feed(ids, 8)
  await eventually(async () => (await online()) === 48, 'everybody online again')

  await a.close()
  await sql`update devices set connectivity = 'offline'`
  await feed(ids, 9)
  await eventually(async () => (await online()) === 48, 'one worker does it all')
  for (const shard of shards) {
    await eventually(async () => (await redis.xlen(names.up(shard))) === 0, `shard ${shard} trimmed`)
  }
  await b.close()
})
