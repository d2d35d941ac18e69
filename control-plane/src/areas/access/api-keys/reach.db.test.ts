import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Person } from '../../../../test/harness/people.ts'
import { readMigrations } from '../../../db/migrate.ts'
import type { Permission } from '../../../kernel/permissions.ts'

const t = await testApp()
const permissions: Permission[] = [
  'organizations:read',
  'organizations:write',
  'devices:read',
  'devices:write',
]

const create = async (as: Person): Promise<string> =>
  (await t.request('POST /api-keys', as, { body: { name: 'Reads', scopes: ['devices:read'] } })).body.id
const change = async (as: Person, id: string, body: object) => {
  const answer = await t.request(`PATCH /api-keys/${id}`, as, { body })
  return [answer.status, answer.body.error?.code]
}
const more = { scopes: ['devices:read', 'devices:write'] }
const refused = [403, 'FULL_ACCESS_REQUIRED']

test('who is held to some sites or groups makes no more of a key that reaches further, and may rotate or revoke it', async () => {
  const site = await t.make.site()
  const admin = await t.people.orgMember(site)
  const [bySite, byGroup] = [
    await t.people.orgMember(site, { permissions, siteIds: [site.siteId] }),
    await t.people.orgMember(site, { permissions, deviceGroupIds: [await t.make.group(site)] }),
  ]
  const id = await create(admin)
  for (const limited of [bySite, byGroup]) {
    for (const body of [more, { ipAllowlist: null }, { rateLimit: 1_000 }]) {
      expect(await change(limited, id, body)).toEqual(refused)
    }
    expect(await change(limited, await create(limited), more)).toEqual([200, undefined])
  }
  expect((await t.request(`POST /api-keys/${id}/rotate`, bySite)).body.createdBy).toBe(bySite.userId)
  expect(await change(bySite, id, more)).toEqual([200, undefined])
  expect((await t.request(`DELETE /api-keys/${await create(admin)}`, byGroup)).status).toBe(200)
})

test('a partner’s user without its organizations makes no more of a key that reaches them', async () => {
  const partnerId = await t.make.partner()
  const [admin, other] = [await t.people.partnerAdmin(partnerId), await t.people.partnerAdmin(partnerId)]
  const without = await t.people.partnerMember(partnerId, 'none', { permissions })
  const id = await create(admin)
  expect(await change(without, id, more)).toEqual(refused)
  expect(await change(without, await create(without), more)).toEqual([200, undefined])
  expect(await change(other, id, more)).toEqual([200, undefined])
})

test('who lacks what a key gives makes it no looser, and may make it tighter', async () => {
  const partnerId = await t.make.partner()
  const admin = await t.people.partnerAdmin(partnerId)
  const weak = await t.people.partnerAdmin(partnerId, {
    permissions: ['organizations:write', 'devices:read'],
  })
  const day = (n: number) => new Date(t.clock.now().getTime() + n * 86_400_000).toISOString()
  const scopes = ['devices:execute', 'devices:read']
  const given = { name: 'Runs', scopes, ipAllowlist: ['192.0.2.0/24'], rateLimit: 10, expiresAt: day(2) }
  const { id } = (await t.request('POST /api-keys', admin, { body: given })).body
  const looser = [
    { ipAllowlist: null },
    { ipAllowlist: ['192.0.2.1', '198.51.100.1'] },
    { rateLimit: 11 },
    { expiresAt: day(3) },
  ]
  for (const body of looser) {
    expect([body, await change(weak, id, body)]).toEqual([body, [403, 'DELEGATION_CEILING']])
    expect(await change(admin, id, body)).toEqual([200, undefined])
    expect(await change(admin, id, { ...given, scopes: undefined })).toEqual([200, undefined])
  }
  for (const body of [{ ipAllowlist: ['192.0.2.7'] }, { rateLimit: 9, expiresAt: day(1) }, { name: 'Ran' }])
    expect(await change(weak, id, body)).toEqual([200, undefined])
  expect(await change(weak, id, { scopes: ['devices:read'], ...looser[2] })).toEqual([200, undefined])
})

test('a key goes with the membership that it was made under, and does not come back with another', async () => {
  const org = await t.make.org()
  const { partnerId } = org
  const admin = await t.people.partnerAdmin(partnerId)
  for (const member of [
    await t.people.partnerAdmin(partnerId, { permissions }),
    await t.people.orgMember(org, { permissions }),
  ]) {
    const body = { name: 'Reads', scopes: ['devices:read'] }
    const { id, key } = (await t.request('POST /api-keys', member, { body })).body
    const use = async () => (await t.request('GET /devices', null, { headers: { 'x-api-key': key } })).status
    const [user] = (await t.request(`GET /users/${member.userId}`, admin)).body.memberships
    expect(await use()).toBe(200)
    expect((await t.request(`DELETE /users/${member.userId}`, admin)).status).toBe(204)
    const { orgId, roleId } = user
    if (orgId === null) await t.make.partnerMember({ userId: member.userId, partnerId, roleId })
    else await t.make.orgMember({ ...org, userId: member.userId, roleId })
    await t.core.ports.callers.changed()
    expect([orgId, await use()]).toEqual([orgId, 401])
    expect((await t.request(`GET /api-keys/${id}`, admin)).body.status).toBe('revoked')
    const rows =
      await t.owner`select details from svc.audit_log where action = 'user.remove' and resource_id = ${member.userId}`
    expect(rows).toMatchObject([{ details: { apiKeys: 1 } }])
  }
  const own = (await t.request('POST /api-keys', admin, { body: { name: 'Mine', scopes: ['devices:read'] } }))
    .body
  expect((await t.request(`GET /api-keys/${own.id}`, admin)).body.status).toBe('active')
})

test('keys whose membership ended before that was so are revoked by the migration, and no others', async () => {
  const org = await t.make.org()
  const members = [await t.people.orgMember(org, { permissions }), await t.people.partnerAdmin(org.partnerId)]
  const kept = await Promise.all(members.map(create))
  const gone = [await t.people.orgMember(org, { permissions }), await t.people.partnerAdmin(org.partnerId)]
  const dead = await Promise.all(gone.map(create))
  const [ofOrg, ofPartner] = gone.map(({ userId }) => userId)
  await t.owner`delete from svc.organization_memberships where user_id = ${ofOrg ?? null}`
  await t.owner`delete from svc.partner_memberships where user_id = ${ofPartner ?? null}`
  const migration = readMigrations().find(({ name }) => name.includes('_keys_of_members_gone'))
  await t.owner.begin((sql) => sql.unsafe(String(migration?.text)))
  const admin = await t.people.partnerAdmin(org.partnerId)
  const statusOf = async (id: string) => (await t.request(`GET /api-keys/${id}`, admin)).body.status
  expect(await Promise.all(kept.map(statusOf))).toEqual(['active', 'active'])
  expect(await Promise.all(dead.map(statusOf))).toEqual(['revoked', 'revoked'])
})
