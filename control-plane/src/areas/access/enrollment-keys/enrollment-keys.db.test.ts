import { tokenHash } from '@svc/proto'
import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Person } from '../../../../test/harness/people.ts'

const t = await testApp()
const day = 86_400_000

const create = (as: Person, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  t.request('POST /enrollment-keys', as, { body, headers })

async function place() {
  const site = await t.make.site()
  return { ...site, admin: await t.people.partnerAdmin(site.partnerId) }
}

test('a key is shown once, when it is made; the database keeps its digest', async () => {
  const { admin, partnerId, orgId, siteId } = await place()
  const made = await create(admin, { name: 'Roll-out', orgId, siteId })
  expect(made.status).toBe(201)
  const { key, ...rest } = made.body
  expect(key).toMatch(/^svce_[\w-]{43}$/)
  expect(rest).toEqual({
    id: expect.any(String),
    orgId,
    siteId,
    name: 'Roll-out',
    maxUsage: 50,
    usageCount: 0,
    state: 'usable',
    expiresAt: expect.any(String),
    revokedAt: null,
    createdBy: admin.userId,
    createdAt: expect.any(String),
  })
  expect(Math.abs(new Date(rest.expiresAt).getTime() - (Date.now() + 7 * day))).toBeLessThan(60_000)
  const listed = await t.request('GET /enrollment-keys', admin)
  expect(listed.body.data).toEqual([rest])
  const [row] = await t.db.rows<{
    keyHash: Buffer
  }>`select key_hash from enrollment_keys where id = ${rest.id}`
  expect(row?.keyHash).toEqual(tokenHash(key))
  const audit = await t.db
    .rows`select action, partner_id, org_id, details::text from audit_log where resource_id = ${rest.id}`
  expect(audit).toMatchObject([{ action: 'enrollment_key.create', partnerId, orgId }])
  const dump = await t.db.rows`
    select to_jsonb(k)::text from enrollment_keys k union all select to_jsonb(a)::text from audit_log a
    union all select to_jsonb(i)::text from idempotency i`
  expect(JSON.stringify(dump)).not.toContain(key)
})

test('a repeat with the same Idempotency-Key shows the same key, and nobody can read it from the database', async () => {
  const { admin, orgId, siteId } = await place()
  const body = { name: 'Once', orgId, siteId }
  const [first, second] = await Promise.all(
    [1, 2].map(() => create(admin, body, { 'idempotency-key': 'k-1' })),
  )
  expect(first?.body.key).toBeDefined()
  expect(second?.body).toEqual(first?.body)
  const [count] = await t.db.rows<{
    n: number
  }>`select count(*) as n from enrollment_keys where name = 'Once'`
  expect(count?.n).toBe(1)
  const [kept] = await t.db.rows<{ answer: Buffer; sealed: boolean }>`
    select answer, sealed from idempotency where route = 'POST /enrollment-keys'`
  expect(kept?.sealed).toBe(true)
  expect(kept?.answer.toString('latin1')).not.toContain(first?.body.key)
  expect((await create(admin, { ...body, name: 'Other' }, { 'idempotency-key': 'k-1' })).status).toBe(422)
})

test('uses may be unlimited, and the life up to 365 days', async () => {
  const { admin, orgId, siteId } = await place()
  const expiresAt = new Date(Date.now() + 364 * day).toISOString()
  const made = await create(admin, { name: 'x', orgId, siteId, maxUsage: null, expiresAt })
  expect(made.body).toMatchObject({ maxUsage: null, expiresAt })
})

test.each([
  [{ maxUsage: 0 }, 'maxUsage'],
  [{ maxUsage: 100_001 }, 'maxUsage'],
  [{ maxUsage: 1.5 }, 'maxUsage'],
  [{ expiresAt: new Date(Date.now() - 1_000).toISOString() }, 'expiresAt'],
  [{ expiresAt: new Date(Date.now() + 366 * day).toISOString() }, 'expiresAt'],
  [{ expiresAt: 'tomorrow' }, 'expiresAt'],
  [{ name: '' }, 'name'],
  [{ key: 'svce_mine' }, 'key'],
  [{ usageCount: 0 }, 'usageCount'],
])('%j is refused, naming %s', async (wrong, field) => {
  const { admin, orgId, siteId } = await place()
  const answer = await create(admin, { name: 'x', orgId, siteId, ...wrong })
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toMatchObject([{ in: 'body', field }])
})

test('for a site that is foreign, of another organization, hidden or absent there is no key', async () => {
  const { admin, orgId, siteId, partnerId } = await place()
  const [foreign, sibling] = [await t.make.site(), await t.make.site(await t.make.org(partnerId))]
  const hidden = await t.people.orgMember(
    { partnerId, orgId },
    { siteIds: [(await t.make.site({ partnerId, orgId })).siteId] },
  )
  for (const [as, body] of [
    [admin, { orgId: foreign.orgId, siteId: foreign.siteId }],
    [admin, { orgId, siteId: foreign.siteId }],
    [admin, { orgId, siteId: sibling.siteId }],
    [admin, { orgId, siteId: '00000000-0000-7000-8000-000000000000' }],
    [hidden, { orgId, siteId }],
  ] as const) {
    expect((await create(as, { name: 'nothing', ...body })).status).toBe(404)
  }
  const [count] = await t.db.rows<{
    n: number
  }>`select count(*) as n from enrollment_keys where name = 'nothing'`
  expect(count?.n).toBe(0)
})

test('the state follows from revocation, time and uses, and the list can be filtered by it', async () => {
  const { admin, ...site } = await place()
  const usable = await t.make.enrollmentKey(site)
  const expired = await t.make.enrollmentKey(site, { expiresAt: new Date(Date.now() - 1_000) })
  const exhausted = await t.make.enrollmentKey(site, { maxUsage: 3 })
  const revoked = await t.make.enrollmentKey(site, { revoked: true, expiresAt: new Date(Date.now() - 1_000) })
  await t.db.tx((tx) => tx.run`update enrollment_keys set usage_count = 3 where id = ${exhausted.id}`)
  for (const [state, { id }] of Object.entries({ usable, expired, exhausted, revoked })) {
    const { body } = await t.request('GET /enrollment-keys', admin, { query: { state } })
    expect(body.data).toMatchObject([{ id, state }])
  }
})

test('keys of other tenants, organizations and sites are not listed', async () => {
  const { admin, ...site } = await place()
  const mine = await t.make.enrollmentKey(site)
  const other = await t.make.enrollmentKey(await t.make.site(await t.make.org(site.partnerId)))
  await t.make.enrollmentKey()
  const list = async (as: Person, query: Record<string, string> = {}) =>
    (await t.request('GET /enrollment-keys', as, { query })).body.data.map(({ id }: { id: string }) => id)
  expect(await list(admin)).toEqual([other.id, mine.id])
  expect(await list(admin, { siteId: mine.siteId })).toEqual([mine.id])
  expect(await list(await t.people.orgMember(site))).toEqual([mine.id])
  expect(await list(await t.people.orgMember(site, { siteIds: [mine.siteId] }))).toEqual([mine.id])
  const elsewhere = await t.make.site(site)
  expect(await list(await t.people.orgMember(site, { siteIds: [elsewhere.siteId] }))).toEqual([])
})

test('making one needs the permission and a fresh second factor; a member of the organization may too', async () => {
  const { admin, partnerId, orgId, siteId } = await place()
  const body = { name: 'x', orgId, siteId }
  const reader = await t.people.partnerAdmin(partnerId, { permissions: ['organizations:read'] })
  expect((await create(reader, body)).body.error.code).toBe('FORBIDDEN')
  const stale = await t.people.partnerAdmin(partnerId, { mfaAt: new Date(Date.now() - 11 * 60_000) })
  expect((await create(stale, body)).body.error.code).toBe('MFA_REQUIRED')
  const never = await t.people.partnerAdmin(partnerId, { mfaAt: null })
  expect((await create(never, body)).body.error.code).toBe('MFA_REQUIRED')
  expect((await create(admin, body)).status).toBe(201)
  const member = await t.people.orgMember({ partnerId, orgId })
  expect((await create(member, body, { 'idempotency-key': 'member' })).status).toBe(201)
})

const enroll = (enrollmentKey: string) =>
  t.request('POST /agents/enroll', null, {
    body: { enrollmentKey, hostname: 'h', osType: 'linux', architecture: 'x64', agentVersion: '1.0.0' },
  })

test('a key is read by itself, and revoked: nobody enrolls with it any more', async () => {
  const { admin, ...site } = await place()
  const { id, key } = await t.make.enrollmentKey(site)
  expect((await enroll(key)).status).toBe(201)
  expect((await t.request(`GET /enrollment-keys/${id}`, admin)).body).toMatchObject({
    id,
    usageCount: 1,
    state: 'usable',
  })
  expect((await t.request(`DELETE /enrollment-keys/${id}`, admin)).body).toEqual({ success: true })
  expect((await enroll(key)).status).toBe(401)
  expect((await t.request(`GET /enrollment-keys/${id}`, admin)).body).toMatchObject({ state: 'revoked' })
  for (const answer of [
    await t.request(`DELETE /enrollment-keys/${id}`, admin),
    await t.request(`POST /enrollment-keys/${id}/rotate`, admin),
  ]) {
    expect([answer.status, answer.body.error.code]).toEqual([400, 'KEY_NOT_ACTIVE'])
  }
  const hidden = await t.people.orgMember(site, { siteIds: [(await t.make.site(site)).siteId] })
  expect((await t.request(`GET /enrollment-keys/${id}`, hidden)).status).toBe(404)
})

test('a rotated key has another secret and a new count; what is not said stays, but an end that is past', async () => {
  const { admin, ...site } = await place()
  const { id, key } = await t.make.enrollmentKey(site, { maxUsage: 1 })
  const rotate = (body?: Record<string, unknown>) =>
    t.request(`POST /enrollment-keys/${id}/rotate`, admin, body ? { body } : {})
  const before = (await t.request(`GET /enrollment-keys/${id}`, admin)).body
  expect([(await enroll(key)).status, (await enroll(key)).status]).toEqual([201, 401])
  const next = (await rotate()).body
  expect(next).toEqual({ ...before, key: expect.stringMatching(/^svce_[\w-]{43}$/) })
  expect(next.key).not.toBe(key)
  expect([(await enroll(key)).status, (await enroll(next.key)).status]).toEqual([401, 201])
  const expiresAt = new Date(Date.now() + 30 * day).toISOString()
  expect((await rotate({ maxUsage: null, expiresAt })).body).toMatchObject({
    maxUsage: null,
    expiresAt,
    usageCount: 0,
  })
  await t.db.tx(
    (tx) => tx.run`update enrollment_keys set expires_at = now() - interval '1 day' where id = ${id}`,
  )
  const revived = (await rotate()).body
  expect(revived.state).toBe('usable')
  expect(Math.abs(new Date(revived.expiresAt).getTime() - (Date.now() + 7 * day))).toBeLessThan(60_000)
  expect((await rotate({ expiresAt: new Date(Date.now() + 366 * day).toISOString() })).status).toBe(400)
})
