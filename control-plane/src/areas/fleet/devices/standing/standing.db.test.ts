import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'

const t = await testApp()
const { make, people } = t

const deviceRow = (id: string) =>
  t.db.one<Record<string, unknown>>`
    select org_id, site_id, lifecycle, credential_version, token_sha256 is not null as has_token, enrollment_key_id
    from devices where id = ${id}`
const statusOf = async (id: string) =>
  (await t.db.one<{
    status: string
    error: string | null
  }>`select status, error from commands where id = ${id}`) ?? null

async function withWork() {
  const device = await make.device(undefined, { connectivity: 'online' })
  const admin = await people.partnerAdmin(device.partnerId)
  const { body } = await t.request(`POST /devices/${device.id}/commands`, admin, {
    body: { type: 'list_processes' },
  })
  return { device, admin, commandId: body.id as string }
}

test('a quarantine cuts, withdraws and says why; a release gives the same token back', async () => {
  const { device, admin, commandId } = await withWork()
  const reason = 'left on a train'
  const quarantined = await t.request(`POST /devices/${device.id}/quarantine`, admin, { body: { reason } })
  expect([quarantined.status, quarantined.body]).toEqual([200, { success: true }])
  expect(await deviceRow(device.id)).toMatchObject({
    lifecycle: 'quarantined',
    credentialVersion: 2,
    hasToken: true,
  })
  expect(await statusOf(commandId)).toEqual({
    status: 'cancelled',
    error: 'the device was quarantined: left on a train',
  })
  const shown = await t.request(`GET /devices/${device.id}`, admin)
  expect(shown.body).toMatchObject({
    status: 'quarantined',
    quarantineReason: reason,
    quarantinedAt: expect.any(String),
  })
  const again = await t.request(`POST /devices/${device.id}/quarantine`, admin, { body: { reason } })
  expect([again.status, again.body.error.details]).toEqual([
    409,
    [{ from: 'quarantined', to: 'quarantined' }],
  ])
  expect((await t.request(`POST /devices/${device.id}/release`, admin)).status).toBe(200)
  const released = (await t.request(`GET /devices/${device.id}`, admin)).body
  expect(released).toMatchObject({ status: 'offline', quarantineReason: null, quarantinedAt: null })
  expect((await t.request(`POST /devices/${device.id}/release`, admin)).status).toBe(409)
  const events = await t.db.rows<{ type: string; payload: Record<string, unknown> }>`
    select type, payload from outbox where subject_id = ${device.id} and type in ('device.quarantined', 'device.released') order by id`
  expect(events.map(({ type }) => type)).toEqual(['device.quarantined', 'device.released'])
  expect(events[0]?.payload).toMatchObject({ reason })
})

test('a device moves with what it reported, and leaves its groups and its work', async () => {
  const { device, admin, commandId } = await withWork()
  const group = await make.group(device, [device.id])
  const target = await make.site(await make.org(device.partnerId))
  const body = { orgId: target.orgId, siteId: target.siteId }
  const moved = await t.request(`POST /devices/${device.id}/move-org`, admin, { body })
  expect([moved.status, moved.body]).toEqual([200, { success: true }])
  expect(await deviceRow(device.id)).toMatchObject({
    ...body,
    lifecycle: 'active',
    credentialVersion: 2,
    hasToken: true,
    enrollmentKeyId: null,
  })
  expect(await statusOf(commandId)).toEqual({
    status: 'cancelled',
    error: 'the device was moved to another organization',
  })
  const left = await t.db.rows`
    select l.action, l.reason from device_group_log l where l.device_id = ${device.id} and l.group_id = ${group}`
  expect(left).toEqual([{ action: 'removed', reason: 'moved' }])
  expect(await t.db.rows`select from device_group_members where device_id = ${device.id}`).toEqual([])
  expect(await t.db.rows`select org_id from device_presence where device_id = ${device.id}`).toEqual([
    { orgId: target.orgId },
  ])
  const revoked = await t.db
    .rows`select org_id, reason, credential_version from revocations where device_id = ${device.id}`
  expect(revoked).toEqual([{ orgId: device.orgId, reason: 'MOVED', credentialVersion: 1 }])
  const events = await t.db.rows`
    select type, org_id from outbox where subject_id = ${device.id} and type like 'device.moved%' order by id`
  expect(events).toEqual([
    { type: 'device.moved_out', orgId: device.orgId },
    { type: 'device.moved_in', orgId: target.orgId },
  ])
  const [old, here] = await Promise.all([
    people.orgMember(device, { permissions: ['devices:read'] }),
    people.orgMember(target, { permissions: ['devices:read'] }),
  ])
  expect((await t.request(`GET /devices/${device.id}`, old)).status).toBe(404)
  expect((await t.request(`GET /devices/${device.id}/commands/${commandId}`, here)).status).toBe(404)
  expect((await t.request(`GET /devices/${device.id}`, here)).status).toBe(200)
})

test('where a device cannot move to', async () => {
  const device = await make.device()
  const admin = await people.partnerAdmin(device.partnerId)
  const [other, foreign] = [await make.site(await make.org(device.partnerId)), await make.site()]
  const full = await make.site(await make.org(device.partnerId))
  await make.device(full)
  await t.db.tx((tx) => tx.run`update organizations set max_devices = 1 where id = ${full.orgId}`)
  const move = async ({ orgId, siteId }: { orgId: string; siteId: string }, who = admin, id = device.id) => {
    const { status, body } = await t.request(`POST /devices/${id}/move-org`, who, { body: { orgId, siteId } })
    return [status, body.error?.code]
  }
  expect(await move(foreign)).toEqual([404, 'NOT_FOUND'])
  expect(await move({ orgId: other.orgId, siteId: device.siteId })).toEqual([404, 'NOT_FOUND'])
  expect(await move(device)).toEqual([400, 'VALIDATION_ERROR'])
  expect(await move(full)).toEqual([403, 'DEVICE_LIMIT_REACHED'])
  const member = await people.orgMember(device, { permissions: ['devices:read', 'devices:write'] })
  expect(await move(other, member)).toEqual([404, 'NOT_FOUND'])
  const retired = await make.device(device, { lifecycle: 'decommissioned' })
  expect(await move(other, admin, retired.id)).toEqual([409, 'CONFLICT'])
  expect(await deviceRow(device.id)).toMatchObject({ orgId: device.orgId, credentialVersion: 1 })
})

test('of commands that are sent while a device moves each is of the organization that asked, and none of the old one is left', async () => {
  const device = await make.device()
  const target = await make.site(await make.org(device.partnerId))
  const admin = await people.partnerAdmin(device.partnerId)
  const member = await people.orgMember(device, { permissions: ['devices:read', 'devices:execute'] })
  const send = () =>
    t.request(`POST /devices/${device.id}/commands`, member, { body: { type: 'list_processes' } })
  const [moved, ...sent] = await Promise.all([
    t.request(`POST /devices/${device.id}/move-org`, admin, {
      body: { orgId: target.orgId, siteId: target.siteId },
    }),
    ...Array.from({ length: 8 }, send),
  ])
  expect(moved.status).toBe(200)
  for (const { status } of sent) expect([201, 404]).toContain(status)
  const open = await t.db.rows`
    select id from commands where device_id = ${device.id} and status in ('queued', 'delivered', 'running')`
  expect(open).toEqual([])
})
