import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Person } from '../../../../test/harness/people.ts'
import type { Permission } from '../../../kernel/permissions.ts'

const t = await testApp()
const read = { resource: 'devices', action: 'read' }
const write = { resource: 'devices', action: 'write' }

/** A partner with an organization, and somebody who may do everything in each. */
async function place() {
  const org = await t.make.org()
  const [admin, orgAdmin] = [await t.people.partnerAdmin(org.partnerId), await t.people.orgMember(org)]
  return { ...org, admin, orgAdmin }
}

const create = (as: Person, body: Record<string, unknown>) => t.request('POST /roles', as, { body })
const change = (as: Person, id: string, body: Record<string, unknown>) =>
  t.request(`PATCH /roles/${id}`, as, { body })
const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
  status,
  body.error?.code,
]
const limited = (partnerId: string, ...permissions: Permission[]) =>
  t.people.partnerAdmin(partnerId, {
    permissions: ['users:read', 'users:write', 'users:delete', ...permissions],
  })

test('a role belongs to what its maker’s login is for, and says what it gives', async () => {
  const { admin, orgAdmin, partnerId, orgId } = await place()
  const body = { name: 'Night shift', description: 'Looks', permissions: [read] }
  const made = await create(admin, body)
  expect([made.status, made.body]).toEqual([
    201,
    {
      id: expect.any(String),
      partnerId,
      orgId: null,
      parentRoleId: null,
      scope: 'partner',
      name: 'Night shift',
      description: 'Looks',
      isSystem: false,
      forceMfa: false,
      userCount: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      permissions: [read],
    },
  ])
  expect((await create(orgAdmin, body)).body).toMatchObject({ scope: 'organization', orgId, partnerId })
  expect((await create(admin, { ...body, orgId })).status).toBe(409)
  expect((await create(admin, { ...body, orgId, name: 'Day shift' })).body).toMatchObject({ orgId })
  const audit = await t.db.rows`
    select action, partner_id, org_id, details from audit_log where resource_id = ${made.body.id}`
  expect(audit).toMatchObject([
    { action: 'role.create', partnerId, orgId: null, details: { permissions: ['devices:read'] } },
  ])
})

test('bodies may speak the interface’s words; pairs of no catalogue are refused and named', async () => {
  const { admin } = await place()
  const words = [
    { resource: 'devices', action: 'view' },
    { resource: 'devices', action: 'create' },
    { resource: 'devices', action: 'update' },
    { resource: 'settings', action: 'update' },
  ]
  const made = await create(admin, { name: 'Words', permissions: words })
  expect(made.body.permissions).toEqual([read, write, { resource: 'organizations', action: 'write' }])
  const refused = await create(admin, {
    name: 'Wrong',
    permissions: [read, { resource: 'remote', action: 'view' }],
  })
  expect(codeOf(refused)).toEqual([400, 'VALIDATION_ERROR'])
  expect(refused.body.error.details).toMatchObject([{ in: 'body', field: 'permissions.1' }])
})

test('nobody makes a role that gives more than they hold, whether by itself, by its parent or by full access', async () => {
  const { partnerId, admin } = await place()
  const actor = await limited(partnerId, 'devices:read')
  const strong = (await create(admin, { name: 'Strong', permissions: [write] })).body.id
  expect((await create(actor, { name: 'Equal', permissions: [read] })).status).toBe(201)
  const refused = await create(actor, { name: 'More', permissions: [read, write] })
  expect(codeOf(refused)).toEqual([403, 'DELEGATION_CEILING'])
  expect(refused.body.error.details).toEqual([{ permission: 'devices:write' }])
  expect(codeOf(await create(actor, { name: 'Heir', parentRoleId: strong }))).toEqual([
    403,
    'DELEGATION_CEILING',
  ])
  const all = await create(actor, { name: 'All', permissions: [{ resource: '*', action: '*' }] })
  expect(all.body.error.details).toEqual([{ permission: '*:*' }])
  expect((await create(admin, { name: 'All', permissions: [{ resource: '*', action: '*' }] })).status).toBe(
    201,
  )
  const denied = await t.db.rows`
    select details from audit_log where actor_id = ${actor.userId} and action = 'authorization.denied' order by at, id`
  expect(denied).toHaveLength(3)
  expect(denied[0]).toMatchObject({
    details: { code: 'DELEGATION_CEILING', beyond: [{ permission: 'devices:write' }] },
  })
})

test('a change is judged by all that the role and every role below it give afterwards', async () => {
  const { partnerId } = await place()
  const actor = await limited(partnerId, 'devices:read')
  const parent = await t.make.role({ partnerId }, [])
  const child = await t.make.role({ partnerId }, ['scripts:write'], { parentRoleId: parent })
  // The parent alone would be within what the actor holds; the child, which gains too, is not.
  expect(codeOf(await change(actor, parent, { permissions: [read] }))).toEqual([403, 'DELEGATION_CEILING'])
  expect((await change(actor, parent, { description: 'Harmless' })).status).toBe(200)
  expect(codeOf(await change(actor, child, { permissions: [] }))).toEqual([403, 'DELEGATION_CEILING'])
  const grown = await t.request(`GET /roles/${child}/effective-permissions`, actor)
  expect(grown.body.permissions.map(({ resource }: { resource: string }) => resource)).toEqual(['scripts'])
})

test('a parent is one of the same owner, no descendant, and within what the actor holds', async () => {
  const { partnerId, orgId, admin, orgAdmin } = await place()
  const [a, b, c] = [
    await t.make.role({ partnerId }, ['devices:read']),
    await t.make.role({ partnerId }, ['devices:write']),
    await t.make.role({ partnerId }, []),
  ]
  const ofOrg = await t.make.role({ partnerId, orgId }, [])
  expect((await change(admin, b, { parentRoleId: a })).body.parentRoleId).toBe(a)
  expect((await change(admin, c, { parentRoleId: b })).status).toBe(200)
  for (const parentRoleId of [a, b, c]) {
    expect(codeOf(await change(admin, a, { parentRoleId }))).toEqual([400, 'CIRCULAR_INHERITANCE'])
  }
  expect((await change(admin, a, { parentRoleId: ofOrg })).body.error.details).toMatchObject([
    { field: 'parentRoleId' },
  ])
  expect((await change(orgAdmin, ofOrg, { parentRoleId: a })).status).toBe(404)
  expect((await change(admin, a, { parentRoleId: crypto.randomUUID() })).status).toBe(404)
  const actor = await limited(partnerId, 'devices:read')
  const free = await t.make.role({ partnerId }, [])
  expect(codeOf(await change(actor, free, { parentRoleId: b }))).toEqual([403, 'DELEGATION_CEILING'])
  expect((await change(actor, free, { parentRoleId: a })).status).toBe(200)
  const effective = await t.request(`GET /roles/${c}/effective-permissions`, admin)
  expect(effective.body).toMatchObject({
    roleId: c,
    inheritanceChain: [{ id: c }, { id: b }, { id: a }],
    permissions: [
      { ...read, inherited: true, sourceRoleId: a },
      { ...write, inherited: true, sourceRoleId: b },
    ],
  })
  expect((await change(admin, c, { parentRoleId: null })).body.parentRoleId).toBeNull()
})

test('parallel changes of parents cannot close a circle together', async () => {
  const { partnerId, admin } = await place()
  for (let round = 0; round < 10; round++) {
    const ids = await Promise.all([1, 2, 3, 4].map(() => t.make.role({ partnerId }, [])))
    const answers = await Promise.all(
      ids.map((id, index) => change(admin, id, { parentRoleId: ids[(index + 1) % ids.length] })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 400])
  }
})

test('built-in roles can be cloned, and neither changed nor deleted', async () => {
  const partner = await t.make.partner()
  const admin = await t.people.partnerAdmin(partner)
  const { body: org } = await t.request('POST /orgs/organizations', admin, { body: { name: 'Acme' } })
  const { body } = await t.request('GET /roles', admin, { query: { orgId: org.id } })
  expect(body.data.map(({ name, isSystem }: Record<string, unknown>) => [name, isSystem])).toEqual([
    ['Organization Viewer', true],
    ['Organization Technician', true],
    ['Organization Admin', true],
  ])
  const { id } = body.data[2]
  expect(codeOf(await change(admin, id, { name: 'Mine' }))).toEqual([400, 'SYSTEM_ROLE'])
  expect(codeOf(await t.request(`DELETE /roles/${id}`, admin))).toEqual([400, 'SYSTEM_ROLE'])
  const clone = await t.request(`POST /roles/${id}/clone`, admin, { body: { name: 'Mine' } })
  expect(clone.body).toMatchObject({ isSystem: false, name: 'Mine', orgId: org.id, scope: 'organization' })
  const source = await t.request(`GET /roles/${id}`, admin)
  expect(clone.body.permissions).toEqual(source.body.permissions)
  expect((await change(admin, clone.body.id, { description: 'Ours' })).body.description).toBe('Ours')
})

test('a clone gives what its source and that one’s parents give, demands what they demand, and needs the same ceiling', async () => {
  const { partnerId, admin } = await place()
  const parent = await t.make.role({ partnerId }, ['devices:read'], { forceMfa: true })
  const source = await t.make.role({ partnerId }, ['devices:write'], { parentRoleId: parent })
  const clone = (as: Person, name: string) => t.request(`POST /roles/${source}/clone`, as, { body: { name } })
  expect((await clone(admin, 'Copy')).body).toMatchObject({
    parentRoleId: null,
    forceMfa: true,
    permissions: [read, write],
  })
  expect(codeOf(await clone(admin, 'copy'))).toEqual([409, 'ALREADY_EXISTS'])
  expect(codeOf(await clone(await limited(partnerId, 'devices:write'), 'More'))).toEqual([
    403,
    'DELEGATION_CEILING',
  ])
})

test('a role in use is not deleted, and the answer counts what stands in the way', async () => {
  const { partnerId, orgId, admin, orgAdmin } = await place()
  const role = await t.make.role({ partnerId, orgId }, [])
  const child = await t.make.role({ partnerId, orgId }, [], { parentRoleId: role })
  const { id } = await t.make.user()
  await t.make.orgMember({ partnerId, orgId, userId: id, roleId: role })
  const refused = await t.request(`DELETE /roles/${role}`, orgAdmin)
  expect(codeOf(refused)).toEqual([400, 'ROLE_IN_USE'])
  expect(refused.body.error.details).toEqual([{ userCount: 1, childRoleCount: 1 }])
  expect((await t.request(`GET /roles/${role}/users`, admin)).body.data).toMatchObject([
    { id, status: 'active' },
  ])
  expect((await t.request(`GET /roles/${role}`, admin)).body.userCount).toBe(1)
  expect((await t.request(`DELETE /roles/${child}`, orgAdmin)).status).toBe(204)
  expect((await t.request(`GET /roles/${child}`, orgAdmin)).status).toBe(404)
  const strong = await t.make.role({ partnerId }, ['devices:write'])
  expect(codeOf(await t.request(`DELETE /roles/${strong}`, await limited(partnerId)))).toEqual([
    403,
    'DELEGATION_CEILING',
  ])
})

test('who is limited to a part manages no roles, and is told so', async () => {
  const { partnerId, orgId } = await place()
  const { siteId } = await t.make.site({ partnerId, orgId })
  const body = { name: 'Mine' }
  for (const [as, message] of [
    [await t.people.partnerMember(partnerId, [orgId]), 'full partner organization access required'],
    [await t.people.partnerMember(partnerId, 'none'), 'full partner organization access required'],
    [
      await t.people.orgMember({ partnerId, orgId }, { siteIds: [siteId] }),
      'full organization access required',
    ],
    [
      await t.people.orgMember(
        { partnerId, orgId },
        { deviceGroupIds: [await t.make.group({ partnerId, orgId })] },
      ),
      'full organization access required',
    ],
  ] as const) {
    const refused = await create(as, body)
    expect([...codeOf(refused), refused.body.error.message]).toEqual([403, 'FULL_ACCESS_REQUIRED', message])
  }
  expect(codeOf(await create(await t.people.stray(), body))).toEqual([403, 'CONTEXT_REQUIRED'])
  const stale = await t.people.partnerAdmin(partnerId, { mfaAt: null })
  expect(codeOf(await create(stale, body))).toEqual([403, 'MFA_REQUIRED'])
})

test('the last who may do everything cannot be made to lose it by a change of the role', async () => {
  const { partnerId, admin } = await place()
  const [membership] = await t.db.rows<{ roleId: string }>`
    select role_id from partner_memberships where user_id = ${admin.userId}`
  const id = membership?.roleId ?? ''
  expect(codeOf(await change(admin, id, { permissions: [read] }))).toEqual([409, 'LAST_ADMINISTRATOR'])
  await t.people.partnerAdmin(partnerId)
  expect((await change(admin, id, { permissions: [read] })).status).toBe(200)
})

test('the list can be narrowed, and the words and the catalogue are those that are checked', async () => {
  const { partnerId, orgId, admin } = await place()
  await t.make.role({ partnerId, orgId }, [], { name: 'Night shift' })
  const names = async (query: Record<string, string>) =>
    (await t.request('GET /roles', admin, { query })).body.data.map(({ name }: { name: string }) => name)
  expect(await names({ search: 'NIGHT' })).toEqual(['Night shift'])
  expect(await names({ search: 'night', scope: 'partner' })).toEqual([])
  const available = (await t.request('GET /roles/permissions/available', admin)).body
  expect(available.resources).toContain('settings')
  expect(available.actions).toEqual(
    expect.arrayContaining(['view', 'create', 'update', 'delete', 'execute', 'read']),
  )
  const { data } = (await t.request('GET /permissions/catalog', admin)).body
  expect(data.at(-1)).toMatchObject({ resource: '*', action: '*', enforced: true })
  expect(data.filter(({ enforced }: { enforced: boolean }) => !enforced)).toHaveLength(4)
  const permissions = data.map(({ resource, action }: Record<string, string>) => ({ resource, action }))
  const made = await create(admin, { name: 'Everything there is', permissions })
  expect(made.body.permissions).toHaveLength(data.length)
})

test('there are no more than 1,000 roles of one owner; another owner has room', async () => {
  const { admin, orgId, partnerId } = await place()
  const own = await create(admin, { name: 'First' })
  await t.owner`
    insert into svc.roles (id, partner_id, org_id, scope, name)
    select gen_random_uuid(), ${partnerId}, null, 'partner', 'Role ' || n from generate_series(1, 1000) n`
  const refused = [
    await create(admin, { name: 'Last' }),
    await t.request(`POST /roles/${own.body.id}/clone`, admin, { body: { name: 'Clone' } }),
  ]
  expect(refused.map(codeOf)).toEqual([
    [409, 'LIMIT_REACHED'],
    [409, 'LIMIT_REACHED'],
  ])
  expect((await create(admin, { name: 'There', orgId })).status).toBe(201)
})

test('a login for another organization is another caller of an Idempotency-Key, though of the same user', async () => {
  const { orgAdmin, partnerId, orgId } = await place()
  const other = await t.make.org(partnerId)
  await t.make.orgMember({ ...other, userId: orgAdmin.userId, roleId: await t.make.role(other, ['*:*']) })
  const membership = { kind: 'organization', id: other.orgId, partnerId } as const
  const there = { ...orgAdmin, token: () => orgAdmin.token({ membership }) }
  const send = (as: Person) =>
    t.request('POST /roles', as, { body: { name: 'Night' }, headers: { 'idempotency-key': 'k1' } })
  const answers = [await send(orgAdmin), await send(there), await send(orgAdmin)]
  expect(answers.map(({ status, body }) => [status, body.orgId])).toEqual([
    [201, orgId],
    [201, other.orgId],
    [201, orgId],
  ])
  expect(answers[2]?.body.id).toBe(answers[0]?.body.id)
})
