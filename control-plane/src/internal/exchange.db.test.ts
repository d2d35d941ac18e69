import { svc } from '@svc/proto'
import { MemoryBus } from '@svc/proto/bus'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import postgres, { type Sql } from 'postgres'
import { Registry } from 'prom-client'
import { v7 as uuid } from 'uuid'
import { trailOf } from '../engines/work/trail.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { databaseForFile } from '../../test/harness/database.ts'
import { systemClock } from '../adapters/clock.ts'
import { type Database, openPool } from '../adapters/postgres.ts'
import { UpdateDesk } from '../engines/updates/desk.ts'
import { Pipeline } from '../pipeline.ts'
import { internalApp } from './app.ts'

const key = 'a shared key of more than thirty-two characters'
const protobuf = 'application/x-protobuf'
const { Standing, CloseReason } = svc.v1
const ports = {
  bus: new MemoryBus(),
  clock: systemClock,
  signingKeys: { sign: () => ({ signature: Buffer.alloc(0), keyId: '' }), publicKeys: () => [] },
  trail: trailOf(),
  updates: new UpdateDesk(Pipeline.parse({})),
  config: { pipeline: Pipeline.parse({}), releaseKeys: [] },
}

let sql: Sql
let url: string
let pool: Database
let app: FastifyInstance
let registry: Registry
const [partnerId, orgId, siteId] = [uuid(), uuid(), uuid()] as const

beforeAll(async () => {
  url = (await databaseForFile()).url
  sql = postgres(url, { connection: { search_path: 'svc' }, max: 1 })
  pool = openPool({ url, role: 'svc_worker', max: 2, name: 'internal test' })
  await sql`insert into partners (id, name, slug) values (${partnerId}, 'P', 'p')`
  await sql`insert into organizations (id, partner_id, name, slug) values (${orgId}, ${partnerId}, 'O', 'o')`
  await sql`insert into sites (id, partner_id, org_id, name) values (${siteId}, ${partnerId}, ${orgId}, 'S')`
})

beforeEach(() => {
  registry = new Registry()
  const logger = pino({ enabled: false })
  app = internalApp({ pool, ports, edgeSharedKey: key, heartbeatIntervalMs: 60_000, registry, logger })
})

afterAll(() => Promise.all([sql.end(), pool.end()]))

async function device(lifecycle = 'active', { token = Buffer.alloc(32, 7), epoch = 0 } = {}) {
  const id = uuid()
  await sql`insert into devices (id, partner_id, org_id, site_id, hostname, os_type, lifecycle, token_sha256, credential_version)
    values (${id}, ${partnerId}, ${orgId}, ${siteId}, 'host', 'linux', ${lifecycle}, ${token}, 3)`
  await sql`insert into device_presence (device_id, partner_id, org_id, epoch) values (${id}, ${partnerId}, ${orgId}, ${epoch})`
  return id
}

async function revoked(secondsAgo: number, reason = 'DECOMMISSIONED') {
  const deviceId = uuid()
  await sql`insert into revocations (id, partner_id, org_id, device_id, credential_version, reason, at)
    values (${uuid()}, ${partnerId}, ${orgId}, ${deviceId}, 5, ${reason}, now() - ${secondsAgo} * interval '1 second')`
  return deviceId
}

const post = (payload: Uint8Array, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: '/internal/edge/exchange',
    payload: Buffer.from(payload),
    headers: { authorization: `Bearer ${key}`, 'content-type': protobuf, ...headers },
  })

async function exchange(request: svc.v1.IExchangeRequest) {
  const answer = await post(
    svc.v1.ExchangeRequest.encode({ node: 'gw-1', version: '1.0.0', ...request }).finish(),
  )
  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-type']).toBe(protobuf)
  return svc.v1.ExchangeAnswer.decode(answer.rawPayload)
}

const counted = async (name: string, labels: Record<string, string>) => {
  const metric = await registry.getSingleMetric(name)?.get()
  return metric?.values.find((value) => JSON.stringify(value.labels) === JSON.stringify(labels))?.value ?? 0
}

test('a gateway without the shared key gets nothing, and is counted', async () => {
  for (const authorization of [
    '',
    'Bearer ',
    `Bearer ${key}x`,
    `Bearer ${key.slice(1)}`,
    key,
    `Basic ${key}`,
  ]) {
    const answer = await post(svc.v1.ExchangeRequest.encode({ node: 'gw-0' }).finish(), { authorization })
    expect([answer.statusCode, answer.body]).toEqual([401, 'key'])
  }
  expect(await counted('svc_internal_refusals_total', { reason: 'key' })).toBe(6)
  expect(await sql`select from gateway_nodes where node = 'gw-0'`).toHaveLength(0)
})

test('bytes that are no request, other content types and bodies over eight megabytes are refused', async () => {
  expect((await post(Buffer.from([0xff, 0xff, 0xff]))).statusCode).toBe(400)
  expect((await post(Buffer.from('{}'), { 'content-type': 'application/json' })).statusCode).toBe(415)
  expect((await post(Buffer.alloc(8 * 1024 * 1024 + 1))).statusCode).toBe(413)
  for (const node of ['', 'a b', 'edge:*', 'x'.repeat(129)]) {
    expect((await post(svc.v1.ExchangeRequest.encode({ node }).finish())).body).toBe('node')
  }
  expect(await counted('svc_internal_refusals_total', { reason: 'body' })).toBe(3)
  expect(await counted('svc_internal_refusals_total', { reason: 'node' })).toBe(4)
})

test('each exchange renews the lease of the node for fifteen seconds', async () => {
  const lease = () => sql`select version, connections, started_at, lease_until,
    extract(epoch from lease_until - now()) as left from gateway_nodes where node = 'gw-lease'`
  await exchange({ node: 'gw-lease', version: '1.0.0', connections: 7 })
  const [first] = await lease()
  expect(first).toMatchObject({ version: '1.0.0', connections: 7 })
  expect(Number(first?.['left'])).toBeGreaterThan(14)
  expect(Number(first?.['left'])).toBeLessThanOrEqual(15)
  await exchange({ node: 'gw-lease', version: '1.0.1', connections: 8 })
  const [second] = await lease()
  expect(second).toMatchObject({ version: '1.0.1', connections: 8, started_at: first?.['started_at'] })
  expect(second?.['lease_until'].getTime()).toBeGreaterThan(first?.['lease_until'].getTime())
  await sql`update gateway_nodes set lease_until = now() - interval '1 minute', started_at = now() - interval '1 hour'
    where node = 'gw-lease'`
  await exchange({ node: 'gw-lease', version: '1.0.1', connections: 0 })
  const [third] = await lease()
  expect(Date.now() - third?.['started_at'].getTime()).toBeLessThan(60_000)
})

test('a device is told with its standing, credential, tenant and epoch floor', async () => {
  const epoch = 1_790_000_000_123_456
  const [active, quarantined, gone] = [
    await device('active', { epoch }),
    await device('quarantined'),
    await device('decommissioned'),
  ]
  const pending = await device('pending')
  const asked = [active, quarantined, gone, pending, active]
  const { profiles } = await exchange({ admissions: asked.map((deviceId) => ({ deviceId })) })
  expect(profiles.map(({ deviceId, standing }) => [deviceId, standing])).toEqual([
    [active, Standing.ACTIVE],
    [quarantined, Standing.STANDING_QUARANTINED],
    [gone, Standing.STANDING_DECOMMISSIONED],
    [pending, Standing.ACTIVE],
  ])
  expect(profiles[0]).toMatchObject({
    credentialVersion: 3,
    orgId,
    partnerId,
    epochFloor: epoch,
    heartbeatIntervalMs: 60_000,
  })
  expect(Buffer.from(profiles[0]?.tokenSha256 ?? [])).toEqual(Buffer.alloc(32, 7))
  expect(await counted('svc_internal_admissions_total', { standing: 'active' })).toBe(2)
})

test('an unknown device and an id that is none are told as such', async () => {
  const ids = [uuid(), 'not-a-uuid', '']
  const { profiles } = await exchange({ admissions: ids.map((deviceId) => ({ deviceId })) })
  expect(profiles.map(({ deviceId }) => deviceId)).toEqual(ids)
  for (const profile of profiles) {
    expect(profile.standing).toBe(Standing.STANDING_UNSPECIFIED)
    expect(profile.tokenSha256).toHaveLength(0)
  }
})

test('a thousand devices are told in one exchange', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => device()))
  const asked = [...ids, ...Array.from({ length: 980 }, () => uuid())]
  const { profiles } = await exchange({ admissions: asked.map((deviceId) => ({ deviceId })) })
  expect(profiles.map(({ deviceId }) => deviceId)).toEqual(asked)
  expect(profiles.filter(({ standing }) => standing === Standing.ACTIVE)).toHaveLength(20)
})

test('revocations are told since the cursor with an overlap of a minute, and those of 48 hours without one', async () => {
  await sql`delete from revocations`
  const [now, minuteAgo, hourAgo, older] = [
    await revoked(0),
    await revoked(50),
    await revoked(3600),
    await revoked(49 * 3600),
  ]
  const all = await exchange({ revocationsSinceMs: 0 })
  expect(all.revocations.map(({ deviceId }) => deviceId)).toEqual([hourAgo, minuteAgo, now])
  expect(all.revocations.map(({ deviceId }) => deviceId)).not.toContain(older)
  expect(all.revocations[0]).toMatchObject({ credentialVersion: 5, reason: CloseReason.DECOMMISSIONED })
  expect(Math.abs(all.serverTimeMs - Date.now())).toBeLessThan(5_000)
  const next = await exchange({ revocationsSinceMs: all.revocationsCursorMs })
  expect(next.revocations.map(({ deviceId }) => deviceId)).toEqual([minuteAgo, now])
  const ahead = await exchange({ revocationsSinceMs: Date.now() + 86_400_000 })
  expect(ahead.revocations.map(({ deviceId }) => deviceId)).toEqual([minuteAgo, now])
})

test('a revocation whose transaction took longer than that is told once it is committed, and then no more', async () => {
  await sql`delete from revocations`
  const pending = postgres(url, { connection: { search_path: 'svc' }, max: 1 })
  const deviceId = uuid()
  let read = await exchange({ revocationsSinceMs: 0 })
  await pending.begin(async (tx) => {
    await tx`insert into revocations (id, partner_id, org_id, device_id, credential_version, reason, at)
      values (${uuid()}, ${partnerId}, ${orgId}, ${deviceId}, 5, 'DECOMMISSIONED', now() - interval '5 minutes')`
    read = await exchange({ revocationsSinceMs: read.revocationsCursorMs })
    expect(read.revocations).toEqual([])
  })
  await pending.end()
  const since = {
    revocationsSinceMs: read.revocationsCursorMs,
    revocationsSinceXact: read.revocationsCursorXact,
  }
  const next = await exchange(since)
  expect(next.revocations.map((one) => one.deviceId)).toEqual([deviceId])
  expect((await exchange({ ...since, revocationsSinceXact: 0 })).revocations).toEqual([])
  // The horizon is the whole server's: a transaction of another database holds it back too, and what
  // lies behind it is told again until that one has ended.
  let cursor = next
  const toldAgain = async () => {
    cursor = await exchange({
      revocationsSinceMs: cursor.revocationsCursorMs,
      revocationsSinceXact: cursor.revocationsCursorXact,
    })
    return cursor.revocations
  }
  await expect.poll(toldAgain, { timeout: 60_000 }).toEqual([])
}, 90_000)

test('a reason that the wire does not know is told as a revocation', async () => {
  await sql`delete from revocations`
  await revoked(0, 'constructor')
  const { revocations } = await exchange({})
  expect(revocations.map(({ reason }) => reason)).toEqual([CloseReason.CREDENTIAL_REVOKED])
})

test('when the database cannot be asked the answer is 503, and says nothing of any device', async () => {
  const dead = openPool({
    url: 'postgres://nobody:x@127.0.0.1:1/none',
    role: 'svc_worker',
    max: 1,
    name: 'dead',
  })
  const registry = new Registry()
  const broken = internalApp({
    pool: dead,
    ports,
    edgeSharedKey: key,
    heartbeatIntervalMs: 1,
    registry,
    logger: pino({ enabled: false }),
  })
  const answer = await broken.inject({
    method: 'POST',
    url: '/internal/edge/exchange',
    payload: Buffer.from(svc.v1.ExchangeRequest.encode({ node: 'gw-1' }).finish()),
    headers: { authorization: `Bearer ${key}`, 'content-type': protobuf },
  })
  expect([answer.statusCode, answer.body]).toEqual([503, 'failure'])
  await dead.end({ timeout: 0 })
})
