import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'
import { linkTokenOf, mailsTo } from '../../../../../test/harness/mails.ts'
import { limits } from '../../../../kernel/limits.ts'

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
  expect(audit).toMatchObject([{ action: 'user.invite', orgId, details: { roleId: orgRole } }])
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
  expect(await t.owner`select id from svc.invitations where email = ${email}`).toEqual([])
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

test('whoever is a member or invited there already is not invited again', async () => {
  const { site, orgAdmin, orgRole } = await place()
  const member = await t.people.orgMember(site)
  const email = address()
  expect((await invite(orgAdmin, { email, roleId: orgRole })).status).toBe(201)
  for (const known of [member.email, email]) {
    const again = await invite(orgAdmin, { email: known, roleId: orgRole })
    expect([...codeOf(again), again.body.error.message]).toEqual([
      409,
      'ALREADY_EXISTS',
      'user already exists in this scope',
    ])
  }
  await t.request(`DELETE /users/${member.userId}`, orgAdmin)
  expect((await invite(orgAdmin, { email: member.email, roleId: orgRole })).status).toBe(201)
})

test('an address that is longer than addresses are once it is composed is refused by name', async () => {
  const { admin, partnerRole } = await place()
  const email = `${'\uFB03'.repeat(20)}@${`${'\uFB03'.repeat(20)}.`.repeat(4)}example` // a ligature of three letters
  const { status, body } = await invite(admin, { email, roleId: partnerRole, orgAccess: 'all' })
  expect([status, body.error.details]).toMatchObject([400, [{ in: 'body', field: 'email' }]])
})

test('invitations by API keys count as their owner’s', async () => {
  const { admin, partnerId, partnerRole } = await place()
  const owner = await t.people.partnerAdmin(partnerId)
  const body = { name: 'Invites', scopes: ['users:invite', 'devices:read'] }
  const { key } = (await t.request('POST /api-keys', owner, { body })).body
  const by = async (as: Person | null) => {
    const invitation = { email: address(), name: 'New', roleId: partnerRole, orgAccess: 'all' }
    const headers = as ? {} : { 'x-api-key': key }
    return (await t.request('POST /users/invite', as, { body: invitation, headers })).status
  }
  const { points } = limits.invite
  for (let n = 0; n < points - 2; n++) await t.core.ports.limits.hit('invite', { user: owner.userId })
  expect([await by(null), await by(owner), await by(null), await by(owner)]).toEqual([201, 201, 429, 429])
  expect(await by(admin)).toBe(201)
})

test('in parallel one of several invitations of an e-mail is made', async () => {
  const { orgAdmin, orgRole } = await place()
  const email = address()
  const answers = await Promise.all([1, 2, 3].map(() => invite(orgAdmin, { email, roleId: orgRole })))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
  expect(await t.owner`select id from svc.invitations where email = ${email}`).toHaveLength(1)
})

test('a fresh link takes the place of the one before, as long as it was not accepted', async () => {
  const { orgAdmin, orgRole } = await place()
  const email = address()
  const { id } = (await invite(orgAdmin, { email, roleId: orgRole })).body
  const resend = () => t.request('POST /users/resend-invite', orgAdmin, { body: { userId: id } })
  expect((await resend()).body).toMatchObject({ id, status: 'invited', inviteEmailSent: true })
  const mails = await mailsTo(t, email)
  expect(new Set(mails.map(({ data }) => data['link'])).size).toBe(2)
  const audit = await t.db.rows`select action from audit_log where resource_id = ${id} order by at, id`
  expect(audit).toEqual([{ action: 'user.invite' }, { action: 'user.invite.resend' }])
  const body = { token: await linkTokenOf(t, email), password: 'seven green bottles hanging' }
  const accepted = await t.request('POST /auth/accept-invite', null, { body })
  expect(accepted.body.user.id).toBe(id)
  const late = await resend()
  expect([...codeOf(late), late.body.error.details]).toEqual([
    409,
    'CONFLICT',
    [{ from: 'active', to: 'invited' }],
  ])
})

test('an invitation is made active by its link alone', async () => {
  const { orgAdmin, orgRole } = await place()
  const { body } = await invite(orgAdmin, { email: address(), roleId: orgRole })
  const change = (status: string) => t.request(`PATCH /users/${body.id}`, orgAdmin, { body: { status } })
  const refused = await change('active')
  expect([...codeOf(refused), refused.body.error.details]).toEqual([
    409,
    'CONFLICT',
    [{ from: 'invited', to: 'active' }],
  ])
  const resent = await t.request('POST /users/resend-invite', orgAdmin, { body: { userId: body.id } })
  expect(resent.body.inviteEmailSent).toBe(true)
  expect((await change('disabled')).body.status).toBe('disabled')
})

test('who waits behind another change of who may do what is refused before what they may do is too old', async () => {
  const { orgAdmin, orgRole, partnerId } = await place()
  const email = address()
  let release = () => {}
  const until = new Promise<void>((done) => (release = done))
  const held = t.owner.begin(async (sql) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('svc.standing ' || ${partnerId}::text, 0))`
    await until
  })
  const waiting = invite(orgAdmin, { email, roleId: orgRole })
  const answer = await Promise.race([waiting, delay(4_000, undefined)])
  release()
  await held
  await waiting
  expect(answer && codeOf(answer)).toEqual([503, 'UNAVAILABLE'])
  expect((await invite(orgAdmin, { email, roleId: orgRole })).status).toBe(201)
})
