import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'
import { mailsTo } from '../../../../../test/harness/mails.ts'

const t = await testApp()
let count = 0
const address = () => `new.${++count}@example.com`

async function place() {
  const site = await t.make.site()
  const [admin, orgAdmin] = [await t.people.partnerAdmin(site.partnerId), await t.people.orgMember(site)]
  const [partnerRole, orgRole] = [
    await t.make.role({ partnerId: site.partnerId }, ['devices:read']),
    await t.make.role(site, ['devices:read']),
  ]
  return { ...site, site, admin, orgAdmin, partnerRole, orgRole }
}

const invite = (as: Person, body: Record<string, unknown>) =>
  t.request('POST /users/invite', as, { body: { name: 'New', ...body } })
const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
  status,
  body.error?.code,
]

test('the role says where to: an organization, with or without limits, by its own administrator or the partner’s', async () => {
  const { partnerId, orgId, siteId, site, admin, orgAdmin, orgRole } = await place()
  const group = await t.make.group(site)
  const email = address()
  const made = await invite(orgAdmin, {
    email: ` ${email.toUpperCase()} `,
    roleId: orgRole,
    siteIds: [siteId],
    deviceGroupIds: [group],
  })
  expect([made.status, made.body]).toMatchObject([
    201,
    {
      email,
      name: 'New',
      status: 'invited',
      partnerId,
      orgId,
      roleId: orgRole,
      siteIds: [siteId],
      deviceGroupIds: [group],
      orgAccess: null,
      inviteEmailSent: true,
    },
  ])
  const [mail] = await mailsTo(t, email)
  expect(mail).toMatchObject({ kind: 'invite', data: { invitedBy: orgAdmin.email } })
  expect(mail?.data['link']).toMatch(/^http:\/\/svc\.test\/accept-invite#token=svcl_/)
  const audit = await t.db
    .rows`select action, org_id, details from audit_log where resource_id = ${made.body.id}`
  expect(audit).toMatchObject([
    { action: 'user.invite', orgId, details: { roleId: orgRole, newAccount: true } },
  ])
  expect(JSON.stringify(audit)).not.toContain('svcl_')
  expect((await invite(admin, { email: address(), roleId: orgRole })).body).toMatchObject({
    orgId,
    siteIds: null,
  })
})

test('a role of the partner takes orgAccess, and orgIds with selected alone', async () => {
  const { orgId, siteId, admin, partnerRole, orgRole } = await place()
  const all = await invite(admin, { email: address(), roleId: partnerRole, orgAccess: 'all' })
  expect(all.body).toMatchObject({ orgId: null, orgAccess: 'all', orgIds: null })
  const some = await invite(admin, {
    email: address(),
    roleId: partnerRole,
    orgAccess: 'selected',
    orgIds: [orgId],
  })
  expect(some.body).toMatchObject({ orgAccess: 'selected', orgIds: [orgId] })
  for (const [body, field] of [
    [{ roleId: partnerRole }, 'orgAccess'],
    [{ roleId: partnerRole, orgAccess: 'selected' }, 'orgIds'],
    [{ roleId: partnerRole, orgAccess: 'all', orgIds: [orgId] }, 'orgIds'],
    [{ roleId: partnerRole, orgAccess: 'all', siteIds: [siteId] }, 'siteIds'],
    [{ roleId: orgRole, orgAccess: 'all' }, 'orgAccess'],
    [{ roleId: orgRole, siteIds: [] }, 'siteIds'],
    [{ roleId: orgRole, email: 'no address' }, 'email'],
    [{ roleId: orgRole, email: `${'x'.repeat(250)}@example.com` }, 'email'],
  ] as const) {
    const refused = await invite(admin, { email: address(), ...body })
    expect([...codeOf(refused), refused.body.error.details[0].field]).toEqual([
      400,
      'VALIDATION_ERROR',
      field,
    ])
  }
})

test('what is foreign, hidden or of another organization is named, and nobody is invited', async () => {
  const { site, siteId, orgAdmin, admin, orgRole, partnerRole } = await place()
  const [foreign, sibling] = [await t.make.site(), await t.make.site(await t.make.org(site.partnerId))]
  const email = address()
  const wrong = [foreign.siteId, sibling.siteId, crypto.randomUUID()]
  const refused = await invite(orgAdmin, { email, roleId: orgRole, siteIds: [siteId, ...wrong] })
  expect([refused.status, refused.body.error.details]).toEqual([
    404,
    wrong.map((id) => ({ field: 'siteIds', id, code: 'NOT_FOUND' })),
  ])
  const group = await t.make.group(foreign)
  expect((await invite(orgAdmin, { email, roleId: orgRole, deviceGroupIds: [group] })).status).toBe(404)
  const selected = { email, roleId: partnerRole, orgAccess: 'selected', orgIds: [site.orgId, foreign.orgId] }
  expect((await invite(admin, selected)).body.error.details).toMatchObject([{ id: foreign.orgId }])
  expect((await invite(orgAdmin, { email, roleId: partnerRole, orgAccess: 'all' })).status).toBe(404)
  expect(await t.db.rows`select id from users where email = ${email}`).toEqual([])
})

test('nobody invites into a role that gives more than they hold', async () => {
  const { site, orgRole } = await place()
  const actor = await t.people.orgMember(site, { permissions: ['users:invite'] })
  expect(codeOf(await invite(actor, { email: address(), roleId: orgRole }))).toEqual([
    403,
    'DELEGATION_CEILING',
  ])
  const heir = await t.make.role(site, [], { parentRoleId: orgRole })
  expect(codeOf(await invite(actor, { email: address(), roleId: heir }))).toEqual([403, 'DELEGATION_CEILING'])
  expect((await invite(actor, { email: address(), roleId: await t.make.role(site, []) })).status).toBe(201)
})

test('a known account gets a membership and no mail, keeps its name, and is a member once', async () => {
  const { orgAdmin, orgRole, partnerId, orgId } = await place()
  const abroad = await t.people.orgMember(await t.make.org(), { permissions: [] })
  const body = { email: abroad.email, name: 'Somebody else', roleId: orgRole }
  const added = await invite(orgAdmin, body)
  expect(added.body).toMatchObject({
    id: abroad.userId,
    status: 'active',
    inviteEmailSent: false,
    memberships: [{ orgId }],
  })
  expect(added.body.name).not.toBe('Somebody else')
  expect(await mailsTo(t, abroad.email)).toEqual([])
  const again = await invite(orgAdmin, body)
  expect([...codeOf(again), again.body.error.message]).toEqual([
    409,
    'ALREADY_EXISTS',
    'user already exists in this scope',
  ])
  const inNew = {
    ...abroad,
    token: () => abroad.token({ membership: { kind: 'organization', id: orgId, partnerId } }),
  }
  expect((await t.request('GET /devices', inNew)).status).toBe(200)
  await t.request(`DELETE /users/${abroad.userId}`, orgAdmin)
  expect((await invite(orgAdmin, body)).status).toBe(201)
})

test('in parallel one of two invitations of an e-mail is made, and one account', async () => {
  const { orgAdmin, orgRole } = await place()
  const email = address()
  const answers = await Promise.all([1, 2, 3].map(() => invite(orgAdmin, { email, roleId: orgRole })))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
  expect(await t.db.rows`select id from users where email = ${email}`).toHaveLength(1)
})

test('who registered an address without proving it does not become a member by its invitation', async () => {
  const { orgAdmin, orgRole } = await place()
  const email = address()
  const { id } = await t.make.user({ email, passwordHash: 'of a stranger' })
  await t.owner`update svc.users set email_verified_at = null where id = ${id}`
  const invited = await invite(orgAdmin, { email, roleId: orgRole })
  expect(invited.body).toMatchObject({ id, status: 'invited', name: 'New', inviteEmailSent: true })
  const [row] = await t.owner`select password_hash, auth_epoch from svc.users where id = ${id}`
  expect(row).toEqual({ passwordHash: null, authEpoch: 2 })
})

test('a fresh link takes the place of the one before, as long as the account waits for it', async () => {
  const { orgAdmin, orgRole } = await place()
  const email = address()
  const { id } = (await invite(orgAdmin, { email, roleId: orgRole })).body
  const resend = () => t.request('POST /users/resend-invite', orgAdmin, { body: { userId: id } })
  expect((await resend()).body).toMatchObject({ id, status: 'invited', inviteEmailSent: true })
  const mails = await mailsTo(t, email)
  expect(new Set(mails.map(({ data }) => data['link'])).size).toBe(2)
  expect(await t.owner`select count(*)::int as n from svc.user_tokens where user_id = ${id}`).toMatchObject([
    { n: 1 },
  ])
  const audit = await t.db.rows`select action from audit_log where resource_id = ${id} order by at, id`
  expect(audit).toEqual([{ action: 'user.invite' }, { action: 'user.invite.resend' }])
  await t.owner`update svc.users set status = 'active' where id = ${id}`
  const late = await resend()
  expect([...codeOf(late), late.body.error.details]).toEqual([
    409,
    'CONFLICT',
    [{ from: 'active', to: 'invited' }],
  ])
})
