import { tokenHash } from '@svc/proto'
import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Person } from '../../../../test/harness/people.ts'

const t = await testApp()
const day = 86_400_000

const create = (as: Person, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  t.request('POST /api-keys', as, { body: { name: 'Export', scopes: ['devices:read'], ...body }, headers })
const withKey = (key: string) => ({ headers: { 'x-api-key': key } })
const using = (key: string, what: `${string} /${string}` = 'GET /devices') =>
  t.request(what, null, withKey(key))

async function partner() {
  const partnerId = await t.make.partner()
  return { partnerId, admin: await t.people.partnerAdmin(partnerId) }
}

test('a key is shown once, when it is made; the database keeps its digest', async () => {
  const { admin, partnerId } = await partner()
  const made = await create(admin, { scopes: ['devices:read', 'sites:read', 'devices:read'] })
  expect(made.status).toBe(201)
  const { key, ...rest } = made.body
  expect(key).toMatch(/^svc_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
  expect(rest).toEqual({
    id: expect.any(String),
    orgId: null,
    name: 'Export',
    prefix: key.slice(0, 14),
    scopes: ['devices:read', 'sites:read'],
    status: 'active',
    rateLimit: 600,
    ipAllowlist: null,
    expiresAt: expect.any(String),
    revokedAt: null,
    usageCount: 0,
    lastUsedAt: null,
    createdBy: admin.userId,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  expect(Math.abs(new Date(rest.expiresAt).getTime() - (Date.now() + 90 * day))).toBeLessThan(60_000)
  expect((await t.request('GET /api-keys', admin)).body.data).toEqual([rest])
  expect((await t.request(`GET /api-keys/${rest.id}`, admin)).body).toEqual(rest)
  const [row] = await t.db.rows<{ keyHash: Buffer }>`select key_hash from api_keys where id = ${rest.id}`
  expect(row?.keyHash).toEqual(tokenHash(key))
  const audit = await t.db
    .rows`select action, partner_id, org_id from audit_log where resource_id = ${rest.id}`
  expect(audit).toEqual([{ action: 'api_key.create', partnerId, orgId: null }])
})

test('a repeat with the same Idempotency-Key shows the same key, sealed in the database', async () => {
  const { admin } = await partner()
  const [first, second] = await Promise.all([1, 2].map(() => create(admin, {}, { 'idempotency-key': 'k-1' })))
  expect(first?.body.key).toBeDefined()
  expect(second?.body).toEqual(first?.body)
  const kept = await t.db.rows<{ answer: Buffer; sealed: boolean }>`
    select answer, sealed from idempotency where route = 'POST /api-keys' and answer is not null`
  expect(kept.map(({ sealed }) => sealed)).toEqual([true])
  expect(kept[0]?.answer.toString('latin1')).not.toContain(first?.body.key)
})

test.each([
  [{ scopes: [] }, 'scopes'],
  [{ rateLimit: 0 }, 'rateLimit'],
  [{ rateLimit: 100_001 }, 'rateLimit'],
  [{ expiresAt: new Date(Date.now() - 1_000).toISOString() }, 'expiresAt'],
  [{ expiresAt: new Date(Date.now() + 366 * day).toISOString() }, 'expiresAt'],
  [{ ipAllowlist: [] }, 'ipAllowlist'],
  [{ ipAllowlist: ['10.1.2.3/8'] }, 'ipAllowlist.0'],
  [{ ipAllowlist: ['example.com'] }, 'ipAllowlist.0'],
  [{ createdBy: 'x' }, 'createdBy'],
  [{ key: 'svc_mine' }, 'key'],
])('%j is refused, naming %s', async (wrong, field) => {
  const answer = await create((await partner()).admin, wrong)
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toMatchObject([{ in: 'body', field }])
})

test.each(['*:*', 'devices:*', 'devices:view', 'planets:read', ''])(
  'scope %j is refused with those that there are',
  async (scope) => {
    const { admin } = await partner()
    const { status, body } = await create(admin, { scopes: ['devices:read', scope] })
    expect(status).toBe(400)
    expect(body.error.details).toMatchObject([{ field: 'scopes', unknown: [scope] }])
    expect(body.error.details[0].supportedScopes).toEqual(
      expect.arrayContaining(['devices:read', 'users:invite']),
    )
    expect(body.error.details[0].supportedScopes).not.toContain('*:*')
  },
)

test('nobody gives a key more than they hold, at creation or later', async () => {
  const { partnerId } = await partner()
  const permissions = ['organizations:write', 'organizations:read', 'devices:read'] as const
  const person = await t.people.partnerAdmin(partnerId, { permissions })
  const more = await create(person, { scopes: ['devices:read', 'devices:execute', 'users:write'] })
  expect([more.status, more.body.error.code]).toEqual([403, 'DELEGATION_CEILING'])
  expect(more.body.error.details).toEqual([{ permission: 'devices:execute' }, { permission: 'users:write' }])
  const { id } = (await create(person, {})).body
  const change = (scopes: string[]) => t.request(`PATCH /api-keys/${id}`, person, { body: { scopes } })
  expect((await change(['devices:read', 'devices:write'])).body.error.code).toBe('DELEGATION_CEILING')
  expect((await change(['organizations:read'])).body.scopes).toEqual(['organizations:read'])
  // What somebody else gave it may stay.
  const admin = await t.people.partnerAdmin(partnerId)
  await t.request(`PATCH /api-keys/${id}`, admin, { body: { scopes: ['scripts:execute'] } })
  expect((await change(['scripts:execute', 'devices:read'])).status).toBe(200)
})

test('an organization is named by who sees selected ones, and narrows; a member makes keys for their own', async () => {
  const { admin, partnerId } = await partner()
  const [one, two] = [await t.make.org(partnerId), await t.make.org(partnerId)]
  const few = await t.people.partnerMember(partnerId, [one.orgId])
  const member = await t.people.orgMember(one)
  const missing = await create(few, {})
  expect(missing.body.error.details).toMatchObject([{ field: 'orgId' }])
  expect((await create(few, { orgId: two.orgId })).status).toBe(404)
  expect((await create(member, { orgId: two.orgId })).status).toBe(404)
  expect((await create(few, { orgId: one.orgId })).body.orgId).toBe(one.orgId)
  expect((await create(member, {})).body.orgId).toBe(one.orgId)
  const none = await t.people.partnerMember(partnerId, 'none')
  expect((await create(none, {})).body.orgId).toBe(null)
  const narrow = (await create(admin, { orgId: one.orgId, scopes: ['organizations:read'] })).body.key
  const wide = (await create(admin, { scopes: ['organizations:read'] })).body.key
  const seen = async (key: string) =>
    (await using(key, 'GET /orgs/organizations')).body.data.map(({ id }: { id: string }) => id)
  expect(await seen(narrow)).toEqual([one.orgId])
  expect(await seen(wide)).toEqual([two.orgId, one.orgId])
})

test('keys are listed within the scope of who asks, by organization and status', async () => {
  const { admin, partnerId } = await partner()
  const [one, two] = [await t.make.org(partnerId), await t.make.org(partnerId)]
  const ofPartner = await t.make.apiKey({ partnerId })
  const ofOne = await t.make.apiKey(one)
  const ofTwo = await t.make.apiKey(two, { expiresAt: new Date(Date.now() - 1_000) })
  const revoked = await t.make.apiKey(two, { revoked: true })
  const list = async (as: Person, query: Record<string, string> = {}) =>
    (await t.request('GET /api-keys', as, { query })).body.data.map(({ id }: { id: string }) => id)
  expect(await list(admin)).toEqual([revoked.id, ofTwo.id, ofOne.id, ofPartner.id])
  expect(await list(await t.people.orgMember(one))).toEqual([ofOne.id])
  expect(await list(await t.people.partnerMember(partnerId, [two.orgId]))).toEqual([revoked.id, ofTwo.id])
  expect(await list(await t.people.partnerMember(partnerId, 'none'))).toEqual([ofPartner.id])
  expect(await list(admin, { orgId: one.orgId })).toEqual([ofOne.id])
  expect(await list(admin, { status: 'active' })).toEqual([ofOne.id, ofPartner.id])
  expect(await list(admin, { status: 'expired' })).toEqual([ofTwo.id])
  expect(await list(admin, { status: 'revoked' })).toEqual([revoked.id])
})

test('a rotated key has another secret, the old one is dead at once, and its count begins again', async () => {
  const { admin } = await partner()
  const { key, id } = (await create(admin, {})).body
  expect((await using(key)).status).toBe(200)
  await t.core.kernel.keyUses.flush()
  expect((await t.request(`GET /api-keys/${id}`, admin)).body).toMatchObject({ usageCount: 1 })
  expect((await using(key)).status).toBe(200) // counted, not yet written: of the old secret
  const rotated = await t.request(`POST /api-keys/${id}/rotate`, admin)
  expect(rotated.body).toMatchObject({ id, usageCount: 0, lastUsedAt: null, key: expect.any(String) })
  expect(rotated.body.key).not.toBe(key)
  expect((await using(key)).status).toBe(401)
  expect((await using(rotated.body.key)).status).toBe(200)
  await t.core.kernel.keyUses.flush()
  expect((await t.request(`GET /api-keys/${id}`, admin)).body).toMatchObject({ usageCount: 1 })
})

test('whoever rotates a key must be able to make it, and owns it from then on', async () => {
  const { admin, partnerId } = await partner()
  const { key, id } = (await create(admin, { scopes: ['devices:read', 'devices:execute'] })).body
  const lesser = await t.people.partnerAdmin(partnerId, {
    permissions: ['organizations:write', 'devices:read'],
  })
  const refused = await t.request(`POST /api-keys/${id}/rotate`, lesser)
  expect([refused.status, refused.body.error.code]).toEqual([403, 'DELEGATION_CEILING'])
  expect((await using(key)).status).toBe(200)
  // An owner who lost a right cannot rotate their own key either.
  const owner = await t.people.partnerAdmin(partnerId, {
    permissions: ['organizations:write', 'devices:execute'],
  })
  const own = (await create(owner, { scopes: ['devices:execute'] })).body
  await t.owner`delete from role_permissions where action = 'execute'
    and role_id = (select role_id from partner_memberships where user_id = ${owner.userId})`
  await t.core.ports.callers.changed(owner.userId)
  expect((await t.request(`POST /api-keys/${own.id}/rotate`, owner)).body.error.code).toBe(
    'DELEGATION_CEILING',
  )
  // With only the partner's own level, what was a key to all organizations becomes one to none.
  const device = await t.make.device(await t.make.site(await t.make.org(partnerId)))
  const none = await t.people.partnerMember(partnerId, 'none')
  const theirs = await t.request(`POST /api-keys/${id}/rotate`, none)
  expect(theirs.body).toMatchObject({ createdBy: none.userId })
  expect((await using(theirs.body.key, `GET /devices/${device.id}`)).status).toBe(404)
})

test('only an active key is changed or rotated, and a revoked one is not revoked again', async () => {
  const { admin, partnerId } = await partner()
  const revoked = await t.make.apiKey({ partnerId }, { revoked: true })
  const expired = await t.make.apiKey({ partnerId }, { expiresAt: new Date(Date.now() - 1_000) })
  const patch = { body: { name: 'x' } }
  for (const { id } of [revoked, expired]) {
    for (const answer of [
      await t.request(`POST /api-keys/${id}/rotate`, admin),
      await t.request(`PATCH /api-keys/${id}`, admin, patch),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([400, 'KEY_NOT_ACTIVE'])
    }
  }
  const again = await t.request(`DELETE /api-keys/${revoked.id}`, admin)
  expect([again.status, again.body.error.code]).toEqual([400, 'KEY_NOT_ACTIVE'])
  expect((await t.request(`DELETE /api-keys/${expired.id}`, admin)).body).toEqual({ success: true })
  expect((await t.request(`PATCH /api-keys/${expired.id}`, admin, { body: {} })).status).toBe(400)
})

test('a key that makes or changes keys gives them no more than it has itself', async () => {
  const { admin } = await partner()
  const ends = new Date(Date.now() + 10 * day)
  const parent = (
    await create(admin, {
      scopes: ['organizations:write', 'organizations:read'],
      expiresAt: ends.toISOString(),
      ipAllowlist: ['10.0.0.0/8'],
    })
  ).body
  const as = (what: `${string} /${string}`, body?: unknown) =>
    t.request(what, null, { ...withKey(parent.key), body, remoteAddress: '10.1.1.1' })
  const wanted = { name: 'child', scopes: ['organizations:read'], ipAllowlist: ['10.2.0.0/16'] }
  const short = new Date(Date.now() + 9 * day).toISOString()
  const child = await as('POST /api-keys', { ...wanted, expiresAt: short })
  expect(child.body).toMatchObject({ createdBy: admin.userId })
  for (const [more, beyond] of [
    [{}, { field: 'expiresAt' }],
    [{ expiresAt: short, ipAllowlist: null }, { field: 'ipAllowlist' }],
    [{ expiresAt: short, ipAllowlist: ['10.0.0.0/8', '11.0.0.0/8'] }, { field: 'ipAllowlist' }],
    [{ expiresAt: short, scopes: ['devices:read'] }, { permission: 'devices:read' }],
    [
      { expiresAt: short, rateLimit: 601 },
      { field: 'rateLimit', most: 600 },
    ],
  ] as const) {
    const answer = await as('POST /api-keys', { ...wanted, ...more })
    expect(answer.body.error).toMatchObject({ code: 'DELEGATION_CEILING', details: [beyond] })
  }
  for (const more of [{ ipAllowlist: null }, { rateLimit: 601 }]) {
    const freed = await as(`PATCH /api-keys/${parent.id}`, more)
    expect(freed.body.error.code).toBe('DELEGATION_CEILING')
  }
  const audit = await t.db.rows`
    select actor_type, actor_id, on_behalf_of, actor_email from audit_log where resource_id = ${child.body.id}`
  expect(audit).toEqual([
    { actorType: 'api_key', actorId: parent.id, onBehalfOf: admin.userId, actorEmail: admin.email },
  ])
})

test('making, changing, revoking and rotating keys needs a fresh second factor of people', async () => {
  const { partnerId } = await partner()
  const stale = await t.people.partnerAdmin(partnerId, { mfaAt: new Date(Date.now() - 11 * 60_000) })
  const { id } = await t.make.apiKey({ partnerId })
  for (const answer of [
    await create(stale, {}),
    await t.request(`PATCH /api-keys/${id}`, stale, { body: { name: 'x' } }),
    await t.request(`DELETE /api-keys/${id}`, stale),
    await t.request(`POST /api-keys/${id}/rotate`, stale),
  ]) {
    expect(answer.body.error.code).toBe('MFA_REQUIRED')
  }
})
