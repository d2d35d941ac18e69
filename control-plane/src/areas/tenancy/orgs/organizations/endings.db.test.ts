import { svc, tokenHash } from '@svc/proto'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { v7 as uuid } from 'uuid'
import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'
import { internalApp } from '../../../../internal/app.ts'

const t = await testApp()
const { make, people } = t
const { Standing, CloseReason } = svc.v1

/** As a gateway asks, which it does every two seconds. */
async function exchange(request: svc.v1.IExchangeRequest) {
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
  await app.close()
  return svc.v1.ExchangeAnswer.decode(answer.rawPayload)
}

const standingOf = async (deviceId: string) => (await exchange({ admissions: [{ deviceId }] })).profiles[0]

/** An organization with one of everything that must die with it, and beside it one of the same partner that must not. */
async function place(partnerId?: string) {
  const site = await make.site(await make.org(partnerId))
  const device = await make.device(site, { connectivity: 'online' })
  const key = await make.enrollmentKey(site)
  const member = await people.orgMember(site)
  await t.owner`update svc.refresh_families set partner_id = ${site.partnerId}, org_id = ${site.orgId} where id = ${member.sessionId}`
  const apiKey = await make.apiKey({ ...site, memberOrg: site.orgId, userId: member.userId })
  return { ...site, device, key, member, apiKey }
}

const statuses = async (at: Awaited<ReturnType<typeof place>>) => ({
  member: (await t.request('GET /devices', at.member)).status,
  me: (await t.request('GET /auth/me', at.member)).status,
  apiKey: (await t.request('GET /devices', null, { headers: { 'x-api-key': at.apiKey.key } })).status,
  enrollment: (
    await t.request('POST /agents/enroll', null, {
      body: {
        enrollmentKey: at.key.key,
        hostname: 'h',
        osType: 'linux',
        architecture: 'x64',
        agentVersion: '1.0.0',
      },
    })
  ).status,
  standing: (await standingOf(at.device.id))?.standing,
})
const alive = { member: 200, me: 200, apiKey: 200, enrollment: 201, standing: Standing.ACTIVE }
const dead = { member: 401, me: 401, apiKey: 401, enrollment: 401 }

const revocationsOf = async (deviceId: string) =>
  (await exchange({})).revocations.filter((one) => one.deviceId === deviceId).map((one) => ({ ...one }))

test('with an organization die its logins, keys and devices, and what they were told to do; its neighbour goes on', async () => {
  const gone = await place()
  const [neighbour, admin] = [await place(gone.partnerId), await people.partnerAdmin(gone.partnerId)]
  const command = await t.request(`POST /devices/${gone.device.id}/commands`, admin, {
    body: { type: 'list_processes' },
  })
  expect([await statuses(gone), await statuses(neighbour)]).toEqual([alive, alive])
  const answer = await t.request(`DELETE /orgs/organizations/${gone.orgId}`, admin)
  expect([answer.status, answer.body]).toEqual([200, { success: true }])
  expect(await statuses(gone)).toEqual({ ...dead, standing: Standing.STANDING_DECOMMISSIONED })
  expect(await statuses(neighbour)).toEqual(alive)
  expect(await revocationsOf(gone.device.id)).toMatchObject([
    { credentialVersion: 1, reason: CloseReason.DECOMMISSIONED },
  ])
  expect(await revocationsOf(neighbour.device.id)).toEqual([])
  const told = await t.request(`GET /devices/${gone.device.id}/commands/${command.body.id}`, admin)
  expect(told.body).toMatchObject({ status: 'cancelled', error: 'the organization was deleted' })
  const [row] = await t.db.rows`
    select o.status, o.deleted_at is not null as deleted, d.status as device, d.token_sha256, d.credential_version,
      k.revoked_at is not null as key_dead, a.revoked_at is not null as api_key_dead
    from organizations o, devices d, enrollment_keys k, api_keys a
    where o.id = ${gone.orgId} and d.id = ${gone.device.id} and k.id = ${gone.key.id} and a.id = ${gone.apiKey.id}`
  expect(row).toEqual({
    status: 'churned',
    deleted: true,
    device: 'decommissioned',
    tokenSha256: null,
    credentialVersion: 2,
    keyDead: true,
    apiKeyDead: true,
  })
  const audit = await t.db.rows<{ details: unknown }>`
    select details from audit_log where resource_id = ${gone.orgId} and action = 'organization.delete'`
  expect(audit[0]?.details).toEqual({ devices: 2, withdrawnCommands: 1, enrollmentKeys: 1, apiKeys: 1 })
  expect((await t.request(`DELETE /orgs/organizations/${gone.orgId}`, admin)).status).toBe(404)
  const events = await t.db.rows<{
    type: string
  }>`select type from outbox where subject_id = ${gone.device.id}`
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['device.decommissioned', 'device.offline', 'command.finished']),
  )
})

test('only who sees the whole partner gives an organization up', async () => {
  const org = await make.org()
  const refused: Person[] = [
    await people.orgMember(org),
    await people.partnerMember(org.partnerId, [org.orgId]),
  ]
  for (const person of refused) {
    const answer = await t.request(`DELETE /orgs/organizations/${org.orgId}`, person)
    expect([answer.status, answer.body.error.code]).toEqual([403, 'FULL_ACCESS_REQUIRED'])
  }
})

test('a suspended organization’s users and devices are out until it goes on; then the same tokens are good', async () => {
  const at = await place()
  const admin = await people.partnerAdmin(at.partnerId)
  const set = (status: string) =>
    t.request(`PATCH /orgs/organizations/${at.orgId}`, admin, { body: { status } })
  expect(await statuses(at)).toEqual(alive)
  expect((await set('suspended')).body.status).toBe('suspended')
  expect(await statuses(at)).toEqual({ ...dead, standing: Standing.STANDING_QUARANTINED })
  expect(await revocationsOf(at.device.id)).toMatchObject([
    { credentialVersion: 1, reason: CloseReason.QUARANTINED },
  ])
  expect((await t.request(`GET /devices/${at.device.id}`, admin)).body.status).toBe('online')
  expect((await set('suspended')).status).toBe(200) // again: nothing more happens
  expect(await revocationsOf(at.device.id)).toHaveLength(1)
  expect((await set('trial')).status).toBe(200)
  const profile = await standingOf(at.device.id)
  expect(profile).toMatchObject({ standing: Standing.ACTIVE, credentialVersion: 2 })
  expect(Buffer.from(profile?.tokenSha256 ?? [])).toEqual(tokenHash(at.device.token))
  // The login ended; a new one, the API key and the enrollment key are as before.
  expect(await statuses(at)).toMatchObject({ member: 401, apiKey: 200, enrollment: 201 })
})

test.each(['organization', 'partner'] as const)(
  'a device that is being enrolled while its %s is suspended is turned out like the others',
  async (what) => {
    const at = await place()
    const [admin, platform] = [await people.partnerAdmin(at.partnerId), await people.platformAdmin()]
    const id = uuid()
    let suspended: Promise<unknown> | undefined
    await t.owner.begin(async (tx) => {
      // As `POST /agents/enroll` does; what it writes is not to be seen by anybody else yet.
      await tx`select from svc.use_enrollment_key(${tokenHash(at.key.key)})`
      await tx`insert into svc.devices (id, partner_id, org_id, site_id, hostname, os_type, enrolled_at, token_sha256)
        values (${id}, ${at.partnerId}, ${at.orgId}, ${at.siteId}, 'late', 'linux', now(), ${tokenHash('late')})`
      suspended =
        what === 'organization'
          ? t.request(`PATCH /orgs/organizations/${at.orgId}`, admin, { body: { status: 'suspended' } })
          : t.request(`PATCH /orgs/partners/${at.partnerId}`, platform, { body: { status: 'suspended' } })
      await expect
        .poll(
          () => t.owner`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        .not.toHaveLength(0)
    })
    expect(await suspended).toMatchObject({ status: 200 })
    expect(await revocationsOf(id)).toMatchObject([{ credentialVersion: 1, reason: CloseReason.QUARANTINED }])
  },
)

test('a partner that is suspended, and one that is given up, is so with everything that is its', async () => {
  const [at, elsewhere] = [await place(), await place()]
  const platform = await people.platformAdmin()
  const staff = await people.partnerAdmin(at.partnerId)
  const key = await make.apiKey({ partnerId: at.partnerId, userId: staff.userId })
  const ofStaff = async () => [
    (await t.request('GET /devices', staff)).status,
    (await t.request('GET /devices', null, { headers: { 'x-api-key': key.key } })).status,
  ]
  const set = (status: string) =>
    t.request(`PATCH /orgs/partners/${at.partnerId}`, platform, { body: { status } })
  expect(await ofStaff()).toEqual([200, 200])
  await t.owner`update svc.refresh_families set partner_id = ${at.partnerId} where id = ${staff.sessionId}`
  expect((await set('suspended')).status).toBe(200)
  expect(await statuses(at)).toEqual({ ...dead, standing: Standing.STANDING_QUARANTINED })
  expect(await ofStaff()).toEqual([401, 401])
  expect((await set('active')).status).toBe(200)
  expect((await standingOf(at.device.id))?.standing).toBe(Standing.ACTIVE)
  expect((await ofStaff())[1]).toBe(200)
  const ended = await t.request(`DELETE /orgs/partners/${at.partnerId}`, platform)
  expect([ended.status, ended.body]).toEqual([200, { success: true }])
  expect(await statuses(at)).toEqual({ ...dead, standing: Standing.STANDING_DECOMMISSIONED })
  expect(await ofStaff()).toEqual([401, 401])
  for (const again of [
    await set('active'),
    await t.request(`DELETE /orgs/partners/${at.partnerId}`, platform),
  ]) {
    expect(again.status).toBe(404)
  }
  expect(await statuses(elsewhere)).toEqual(alive)
})

test('of enrollments and a deletion at the same moment none waits for ever, and no living device is left', async () => {
  for (let round = 0; round < 5; round++) {
    const at = await place()
    const admin = await people.partnerAdmin(at.partnerId)
    // With limits, enrollments lock their organization and their partner too.
    await t.owner`update svc.organizations set max_devices = 1000 where id = ${at.orgId}`
    await t.owner`update svc.partners set max_devices = 1000 where id = ${at.partnerId}`
    const enrolling = Array.from({ length: 12 }, async () => (await statuses(at)).enrollment)
    const deleted = await t.request(`DELETE /orgs/organizations/${at.orgId}`, admin)
    expect(deleted.status).toBe(200)
    for (const status of await Promise.all(enrolling)) expect([201, 401]).toContain(status)
    const left = await t.db.rows`
      select from devices d where d.org_id = ${at.orgId} and d.lifecycle <> 'decommissioned'`
    expect(left).toHaveLength(0)
  }
})

test('of two who give it up at the same moment one is told that it is not there', async () => {
  const org = await make.org()
  const [one, two] = [await people.partnerAdmin(org.partnerId), await people.partnerAdmin(org.partnerId)]
  const answers = await Promise.all(
    [one, two].map((person) => t.request(`DELETE /orgs/organizations/${org.orgId}`, person)),
  )
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404])
})
