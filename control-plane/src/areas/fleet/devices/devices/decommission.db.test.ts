import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { internalApp } from '../../../../internal/app.ts'

const t = await testApp()
const { make, people } = t
const sql = (work: Parameters<typeof t.db.tx>[0]) => t.db.tx(work)

const exchange = async (request: svc.v1.IExchangeRequest) => {
  const app = internalApp({
    pool: t.core.pools.worker,
    ports: t.core.ports,
    edgeSharedKey: t.config.edgeSharedKey,
    heartbeatIntervalMs: 60_000,
    registry: new Registry(),
    logger: pino({ enabled: false }),
  })
  const answer = await app.inject({
    method: 'POST',
    url: '/internal/edge/exchange',
    headers: {
      authorization: `Bearer ${t.config.edgeSharedKey}`,
      'content-type': 'application/x-protobuf',
    },
    payload: Buffer.from(svc.v1.ExchangeRequest.encode({ node: 'gw', ...request }).finish()),
  })
  return svc.v1.ExchangeAnswer.decode(answer.rawPayload)
}

test('decommissioning ends the credential, withdraws what is pending, and tells every gateway by both ways', async () => {
  const d = await make.device(undefined, { connectivity: 'online' })
  const admin = await people.partnerAdmin(d.partnerId)
  const told: svc.v1.EdgeMessage[] = []
  await t.bus.subscribe(names.edgeAll(), (payload) => void told.push(svc.v1.EdgeMessage.decode(payload)))
  const before = await exchange({ admissions: [{ deviceId: d.id }] })
  expect(before.profiles[0]).toMatchObject({ standing: svc.v1.Standing.ACTIVE, credentialVersion: 1 })
  const send = (type: string) => t.request(`POST /devices/${d.id}/commands`, admin, { body: { type } })
  const [queued, running] = [
    (await send('refresh_inventory')).body.id,
    (await send('list_processes')).body.id,
  ]
  await sql(
    (tx) =>
      tx.run`update commands set status = 'running', deadline_at = now() + interval '1 hour' where id = ${running}`,
  )
  await sql(
    (tx) =>
      tx.run`update device_presence set last_seen_at = '2026-05-01T10:00:00Z' where device_id = ${d.id}`,
  )

  const answer = await t.request(`DELETE /devices/${d.id}`, admin)
  expect([answer.status, answer.body]).toEqual([200, { success: true }])

  const row = await t.db
    .one`select lifecycle, status, connectivity, credential_version, token_sha256, offline_seen_at,
    decommissioned_at is not null as dated from devices where id = ${d.id}`
  expect(row).toMatchObject({
    lifecycle: 'decommissioned',
    status: 'decommissioned',
    connectivity: 'offline',
    credentialVersion: 2,
    tokenSha256: null,
    dated: true,
  })
  expect((row as { offlineSeenAt: Date }).offlineSeenAt.toISOString()).toBe('2026-05-01T10:00:00.000Z')
  for (const id of [queued, running]) {
    const command = (await t.request(`GET /devices/${d.id}/commands/${id}`, admin)).body
    expect(command).toMatchObject({ status: 'cancelled', finishedAt: expect.any(String) })
  }
  const revocation = { deviceId: d.id, credentialVersion: 1, reason: svc.v1.CloseReason.DECOMMISSIONED }
  const after = await exchange({
    admissions: [{ deviceId: d.id }],
    revocationsSinceMs: before.revocationsCursorMs,
  })
  expect(after.revocations.map((it) => ({ ...it }))).toContainEqual(expect.objectContaining(revocation))
  expect(after.profiles[0]?.standing).toBe(svc.v1.Standing.STANDING_DECOMMISSIONED)
  expect(after.profiles[0]?.tokenSha256).toHaveLength(0)
  await expect
    .poll(() => told.map(({ revocation }) => revocation && { ...revocation }))
    .toContainEqual(expect.objectContaining(revocation))
  const events = await t.db.rows<{
    type: string
  }>`select type from outbox where subject_id = ${d.id} order by id`
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['device.decommissioned', 'device.offline', 'command.finished']),
  )
  const audits = await t.db.rows`select result, actor_id, org_id, resource_name, details from audit_log
    where resource_id = ${d.id} and action = 'device.decommission'`
  expect(audits).toEqual([
    {
      result: 'success',
      actorId: admin.userId,
      orgId: d.orgId,
      resourceName: d.hostname,
      details: { from: 'online', withdrawnCommands: 2 },
    },
  ])
})

test('decommissioning a second time is 409 and revokes nothing again', async () => {
  const d = await make.device()
  const admin = await people.partnerAdmin(d.partnerId)
  expect((await t.request(`DELETE /devices/${d.id}`, admin)).status).toBe(200)
  const again = await t.request(`DELETE /devices/${d.id}`, admin)
  expect([again.status, again.body.error.code]).toEqual([409, 'CONFLICT'])
  expect(again.body.error.message).toBe('the device is decommissioned already')
  expect(again.body.error.details).toEqual([{ from: 'decommissioned', to: 'decommissioned' }])
  expect(await t.db.rows`select from revocations where device_id = ${d.id}`).toHaveLength(1)
  expect(
    (await t.db.one<{ v: number }>`select credential_version as v from devices where id = ${d.id}`)?.v,
  ).toBe(2)
})

test('of four decommissionings at the same moment one wins', async () => {
  const d = await make.device()
  const admin = await people.partnerAdmin(d.partnerId)
  const answers = await Promise.all([1, 2, 3, 4].map(() => t.request(`DELETE /devices/${d.id}`, admin)))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409])
})

test('decommissioning needs devices:delete', async () => {
  const d = await make.device()
  const writer = await people.orgMember(d, {
    permissions: ['devices:read', 'devices:write', 'devices:execute'],
  })
  expect((await t.request(`DELETE /devices/${d.id}`, writer)).status).toBe(403)
})
