import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Org } from '../../../../test/harness/make.ts'
import type { Person } from '../../../../test/harness/people.ts'
import type { Permission } from '../../../kernel/permissions.ts'

const t = await testApp()

async function place() {
  const org = await t.make.org()
  const [admin, orgAdmin] = [await t.people.partnerAdmin(org.partnerId), await t.people.orgMember(org)]
  return { ...org, org, admin, orgAdmin }
}

/** Somebody of an organization who may do this much, beside managing users. */
const manager = (org: Org, ...permissions: Permission[]) =>
  t.people.orgMember(org, {
    permissions: ['users:read', 'users:write', 'users:delete', 'users:invite', ...permissions],
  })

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
  status,
  body.error?.code,
]
const change = (as: Person, id: string, body: Record<string, unknown>) =>
  t.request(`PATCH /users/${id}`, as, { body })
const remove = (as: Person, id: string, query: Record<string, string> = {}) =>
  t.request(`DELETE /users/${id}`, as, { query })
const assign = (as: Person, id: string, roleId: string) =>
  t.request(`POST /users/${id}/role`, as, { body: { roleId } })
const auditOf = (id: string) => t.db.rows`
  select action, partner_id, org_id, details from audit_log where resource_id = ${id} and result = 'success' order by at, id`

test('one’s own profile says what the login is for, and its name and picture can be changed', async () => {
  const { partnerId, orgId, orgAdmin, admin } = await place()
  const me = await t.request('GET /users/me', orgAdmin)
  expect(me.body).toMatchObject({
    id: orgAdmin.userId,
    email: orgAdmin.email,
    status: 'active',
    scope: 'organization',
    partnerId,
    orgId,
    roleId: expect.any(String),
    orgAccess: null,
    siteIds: null,
    permissions: ['*:*'],
    platformAdmin: false,
  })
  expect((await t.request('GET /users/me', admin)).body).toMatchObject({
    scope: 'partner',
    orgId: null,
    orgAccess: 'all',
  })
  const selected = await t.people.partnerMember(partnerId, [orgId])
  expect((await t.request('GET /users/me', selected)).body).toMatchObject({
    orgAccess: 'selected',
    orgIds: [orgId],
  })
  const body = { name: 'Kim Lee', avatarUrl: 'https://cdn.example/kim.png' }
  expect((await t.request('PATCH /users/me', orgAdmin, { body })).body).toMatchObject(body)
  const cleared = await t.request('PATCH /users/me', orgAdmin, { body: { avatarUrl: null } })
  expect(cleared.body).toMatchObject({ name: 'Kim Lee', avatarUrl: null })
  expect(await auditOf(orgAdmin.userId)).toMatchObject([
    { action: 'user.profile.update' },
    { details: { avatarUrl: null } },
  ])
  for (const avatarUrl of ['javascript:alert(1)', 'data:image/png;base64,AA', 'file:///etc/passwd', 'x']) {
    expect((await t.request('PATCH /users/me', orgAdmin, { body: { avatarUrl } })).status).toBe(400)
  }
  expect((await t.request('PATCH /users/me', orgAdmin, { body: {} })).status).toBe(400)
  expect(codeOf(await t.request('GET /users/me', await t.people.stray()))).toEqual([403, 'CONTEXT_REQUIRED'])
})

test('who sees a membership sees the user, with all memberships in sight and the partner’s own first', async () => {
  const { org, partnerId, orgId, admin, orgAdmin } = await place()
  const both = await t.people.orgMember(org, { permissions: [] })
  const roleId = await t.make.role({ partnerId }, [])
  await t.make.partnerMember({ userId: both.userId, partnerId, roleId }, [orgId])
  const seen = await t.request(`GET /users/${both.userId}`, admin)
  expect(seen.body).toMatchObject({
    id: both.userId,
    email: both.email,
    roleId,
    orgId: null,
    orgAccess: 'selected',
    orgIds: [orgId],
    memberships: [{ orgId: null }, { orgId, orgAccess: null, siteIds: null }],
  })
  const inOrg = await t.request(`GET /users/${both.userId}`, orgAdmin)
  expect(inOrg.body.memberships).toMatchObject([{ orgId }])
  expect(JSON.stringify(inOrg.body)).not.toContain(roleId)
  const list = async (as: Person, query: Record<string, string> = {}) =>
    (await t.request('GET /users', as, { query })).body.data.map(({ id }: { id: string }) => id)
  expect(await list(admin)).toEqual([both.userId, orgAdmin.userId, admin.userId])
  expect(await list(admin, { orgId })).toEqual([both.userId, orgAdmin.userId])
  expect(await list(admin, { roleId })).toEqual([both.userId])
  expect(await list(admin, { search: both.email.toUpperCase().slice(0, 8) })).toEqual([both.userId])
  expect(await list(admin, { status: 'disabled' })).toEqual([])
  expect(await list(orgAdmin)).toEqual([both.userId, orgAdmin.userId])
  const { body } = await t.request('GET /users/roles', admin, { query: { orgId } })
  expect(body.data[0]).toMatchObject({ orgId, userCount: 1, users: [{ id: both.userId, email: both.email }] })
  await t.db.tx((tx) => tx.run`update organizations set deleted_at = now() where id = ${orgId}`)
  expect(await list(admin)).toEqual([both.userId, admin.userId])
})

test('a role is given by somebody else, who holds both what it gives and what the one before gave', async () => {
  const { org, partnerId, orgId } = await place()
  const actor = await manager(org, 'devices:read')
  const user = await t.people.orgMember(org, { permissions: ['devices:read'] })
  const strong = await t.people.orgMember(org, { permissions: ['devices:write'] })
  const role = (...permissions: Permission[]) => t.make.role(org, permissions)
  const equal = await role('devices:read')
  const given = await assign(actor, user.userId, equal)
  expect([given.status, given.body.roleId, given.body.orgId]).toEqual([200, equal, orgId])
  expect((await auditOf(user.userId)).at(-1)).toMatchObject({
    action: 'user.role.assign',
    partnerId,
    orgId,
    details: { to: equal },
  })
  const more = await assign(actor, user.userId, await role('devices:write'))
  expect([...codeOf(more), more.body.error.details]).toEqual([
    403,
    'DELEGATION_CEILING',
    [{ permission: 'devices:write' }],
  ])
  expect(codeOf(await assign(actor, strong.userId, equal))).toEqual([403, 'DELEGATION_CEILING'])
  expect(codeOf(await assign(actor, actor.userId, equal))).toEqual([403, 'FORBIDDEN'])
  const heir = await t.make.role(org, [], { parentRoleId: await role('scripts:write') })
  expect(codeOf(await assign(actor, user.userId, heir))).toEqual([403, 'DELEGATION_CEILING'])
  expect((await assign(actor, user.userId, await t.make.role({ partnerId }, []))).status).toBe(404)
})

test('a partner’s administrator gives a role of an organization to its member, and no other role', async () => {
  const { org, partnerId, admin } = await place()
  const user = await t.people.orgMember(org, { permissions: [] })
  const roleId = await t.make.role(org, ['devices:read'])
  expect((await assign(admin, user.userId, roleId)).body).toMatchObject({ roleId, orgId: org.orgId })
  const partners = await t.make.role({ partnerId }, [])
  expect((await assign(admin, user.userId, partners)).status).toBe(404)
})

test('a disabled user is out at once, everywhere, and an enabled one may log in again', async () => {
  const { org, orgAdmin } = await place()
  const user = await t.people.orgMember(org, { permissions: ['devices:read'] })
  expect((await t.request('GET /devices', user)).status).toBe(200)
  const disabled = await change(orgAdmin, user.userId, { status: 'disabled', name: 'Gone' })
  expect(disabled.body).toMatchObject({ status: 'disabled', name: 'Gone' })
  expect((await t.request('GET /devices', user)).status).toBe(401)
  const [account] = await t.owner`
    select auth_epoch, (select count(*)::int from svc.refresh_families f where f.user_id = u.id and revoked_at is null) as live
    from svc.users u where id = ${user.userId}`
  expect(account).toEqual({ authEpoch: 2, live: 0 })
  const [row] = await auditOf(user.userId)
  expect(row).toMatchObject({
    action: 'user.update',
    details: { status: { from: 'active', to: 'disabled' }, name: { to: 'Gone' } },
  })
  expect((await change(orgAdmin, user.userId, { status: 'active' })).body.status).toBe('active')
  expect(codeOf(await change(orgAdmin, orgAdmin.userId, { status: 'disabled' }))).toEqual([403, 'FORBIDDEN'])
  for (const body of [{}, { status: 'invited' }, { email: 'x@example.com' }]) {
    expect((await change(orgAdmin, user.userId, body)).status).toBe(400)
  }
})

test('an account that is not this tenant’s alone, or holds more than the caller, is not renamed or disabled', async () => {
  const { org, admin, orgAdmin } = await place()
  const user = await t.people.orgMember(org, { permissions: [] })
  const sibling = await t.make.org(org.partnerId)
  await t.make.orgMember({ ...sibling, userId: user.userId, roleId: await t.make.role(sibling, []) })
  // The organization's administrator sees one of two memberships, the partner's both.
  const refused = await change(orgAdmin, user.userId, { status: 'disabled' })
  expect([...codeOf(refused), refused.body.error.message]).toEqual([
    403,
    'FORBIDDEN',
    expect.stringContaining('belongs to others'),
  ])
  expect((await change(admin, user.userId, { name: 'Renamed' })).status).toBe(200)
  const foreign = await t.make.org()
  await t.make.orgMember({ ...foreign, userId: user.userId, roleId: await t.make.role(foreign, []) })
  expect(codeOf(await change(admin, user.userId, { status: 'disabled' }))).toEqual([403, 'FORBIDDEN'])
  const platform = await t.make.user({ platformAdmin: true })
  await t.make.orgMember({ ...org, userId: platform.id, roleId: await t.make.role(org, []) })
  expect(codeOf(await change(admin, platform.id, { status: 'disabled' }))).toEqual([403, 'FORBIDDEN'])
  expect(codeOf(await change(await manager(org), orgAdmin.userId, { name: 'Lesser' }))).toEqual([
    403,
    'DELEGATION_CEILING',
  ])
})

test('removal ends one membership and the logins for it; the account and its other memberships go on', async () => {
  const { org, partnerId, orgId, orgAdmin } = await place()
  const user = await t.people.orgMember(org, { permissions: ['devices:read'] })
  const elsewhere = await t.make.org()
  await t.make.orgMember({
    ...elsewhere,
    userId: user.userId,
    roleId: await t.make.role(elsewhere, ['devices:read']),
  })
  const other = await t.make.session(user.userId)
  const [here, there] = [user.sessionId, other]
  await t.owner`update svc.refresh_families set partner_id = ${partnerId}, org_id = ${orgId} where id = ${here}`
  await t.owner`update svc.refresh_families set partner_id = ${elsewhere.partnerId}, org_id = ${elsewhere.orgId} where id = ${there}`
  expect((await t.request('GET /devices', user)).status).toBe(200)
  expect((await remove(orgAdmin, user.userId)).status).toBe(204)
  expect((await t.request('GET /devices', user)).status).toBe(401)
  const abroad = {
    ...user,
    token: () =>
      user.token({
        sessionId: there,
        membership: { kind: 'organization', id: elsewhere.orgId, partnerId: elsewhere.partnerId },
      }),
  }
  expect((await t.request('GET /devices', abroad)).status).toBe(200)
  expect((await remove(orgAdmin, user.userId)).status).toBe(404)
  expect(await auditOf(user.userId)).toMatchObject([{ action: 'user.remove', partnerId, orgId }])
  expect(await t.db.rows`select status from users where id = ${user.userId}`).toEqual([{ status: 'active' }])
})

test('nobody removes themselves or who holds more, and of several memberships the request says which', async () => {
  const { org, orgId, admin, orgAdmin } = await place()
  expect(codeOf(await remove(orgAdmin, orgAdmin.userId))).toEqual([403, 'FORBIDDEN'])
  expect(codeOf(await remove(await manager(org), orgAdmin.userId))).toEqual([403, 'DELEGATION_CEILING'])
  const user = await t.people.orgMember(org, { permissions: [] })
  const sibling = await t.make.org(org.partnerId)
  await t.make.orgMember({ ...sibling, userId: user.userId, roleId: await t.make.role(sibling, []) })
  const asked = await remove(admin, user.userId)
  expect(asked.body.error.details).toMatchObject([
    { in: 'query', field: 'orgId', organizations: [orgId, sibling.orgId] },
  ])
  expect((await remove(admin, user.userId, { orgId: crypto.randomUUID() })).status).toBe(404)
  expect((await remove(admin, user.userId, { orgId: sibling.orgId })).status).toBe(204)
  expect((await remove(admin, user.userId)).status).toBe(204)
})

test('two administrators cannot remove, disable or demote each other: one remains', async () => {
  const acts: ((as: Person, id: string, viewer: string) => ReturnType<typeof remove>)[] = [
    (as, id) => remove(as, id),
    (as, id) => change(as, id, { status: 'disabled' }),
    assign,
  ]
  for (const act of [...acts, ...acts, ...acts]) {
    const partnerId = await t.make.partner()
    const [a, b] = [await t.people.partnerAdmin(partnerId), await t.people.partnerAdmin(partnerId)]
    const viewer = await t.make.role({ partnerId }, [])
    const answers = await Promise.all([act(a, b.userId, viewer), act(b, a.userId, viewer)])
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
    // Whoever comes a moment later still is nobody to do it any more.
    const lost = answers.find(({ status }) => status >= 300)
    expect(['LAST_ADMINISTRATOR', 'UNAUTHENTICATED', 'CONTEXT_REQUIRED', 'FORBIDDEN']).toContain(
      lost?.body.error.code,
    )
    expect(await administrators(partnerId)).toHaveLength(1)
  }
})

test('the last administrator stays, whoever asks: also somebody who holds everything and is none', async () => {
  const partnerId = await t.make.partner()
  const [last, asker] = [await t.people.partnerAdmin(partnerId), await t.people.partnerAdmin(partnerId)]
  const [viewer] = [await t.make.role({ partnerId }, [])]
  // Their rights are known for a moment longer than they have them, as where the bus is away.
  expect((await t.request('GET /users', asker)).status).toBe(200)
  await t.owner`update svc.partner_memberships set role_id = ${viewer} where user_id = ${asker.userId}`
  for (const answer of [
    await remove(asker, last.userId),
    await change(asker, last.userId, { status: 'disabled' }),
    await assign(asker, last.userId, viewer),
  ]) {
    expect(codeOf(answer)).toEqual([409, 'LAST_ADMINISTRATOR'])
  }
  expect(await administrators(partnerId)).toHaveLength(1)
})

const administrators = (partnerId: string) => t.db.rows`
  select m.user_id from partner_memberships m join users u on u.id = m.user_id
  where m.partner_id = ${partnerId} and m.org_access = 'all' and u.status = 'active'
    and exists (select from role_permissions p where p.role_id = m.role_id and p.resource = '*')`
