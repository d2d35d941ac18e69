import { describe, expect, test } from 'vitest'
import { accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { outcomeOf } from '../../../../../test/harness/idp/browser.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { outboxOf } from '../../../../../test/harness/outbox.ts'
import { egressEnv, redirectUri, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const t = await testApp({ env: egressEnv })
const idp = await startIdp(redirectUri)
const { browser, open, patch, setStatus } = ssoStage(t)
const { code } = accountsOf(t)
const outbox = outboxOf(t)
let serial = 0
/** Somebody whom the provider knows, by whatever claims. */
const someone = (claims: Record<string, unknown>) => {
  const subject = `s${serial++}`
  idp.accounts.set(subject, { email_verified: true, ...claims })
  return browser(subject)
}
const mail = () => `m${serial++}@staff.example`
const audits = (id: string) =>
  t.db.rows<{ action: string; result: string; orgId: string; details: Record<string, unknown> }>`
    select action, result, org_id, details from audit_log where resource_id = ${id} order by at, id`

test('an unknown user is provisioned with the default role, and is the same one the next time', async () => {
  const org = await open(idp)
  const [email, claims] = [mail(), { given_name: 'Kim', family_name: 'Lee' }]
  const kim = someone({ email: email.toUpperCase(), ...claims })
  const first = await kim.tokens(org.orgId)
  expect(first.body).toMatchObject({ mfaRequired: false, user: { email, name: 'Kim Lee' } })
  const { id } = first.body.user
  const token = claimsOf(first.body.accessToken)
  expect(token).toMatchObject({
    mfa: false,
    amr: ['sso'],
    mem: { kind: 'organization', id: org.orgId },
    sso: { idp: org.providerId, mfa: false },
  })
  const again = await kim.tokens(org.orgId)
  expect(again.body.user.id).toBe(id)
  const members = await t.db.rows`select role_id from organization_memberships where user_id = ${id}`
  expect(members).toEqual([{ roleId: org.roleId }])
  const where = { orgId: org.orgId, result: 'success' }
  expect(await audits(id)).toEqual([
    {
      ...where,
      action: 'sso.user.provisioned',
      details: { ssoProviderId: org.providerId, roleId: org.roleId },
    },
    { ...where, action: 'user.login', details: { mfa: false, ssoProviderId: org.providerId } },
    { ...where, action: 'user.login', details: { mfa: false, ssoProviderId: org.providerId } },
  ])
  // Another address of the same subject is the same user.
  idp.accounts.set(kim.who, { email: mail(), email_verified: true })
  expect((await kim.tokens(org.orgId)).body.user).toMatchObject({ id, email })
})

test('a member is linked by a verified address', async () => {
  const org = await open(idp, { autoProvision: false, defaultRoleId: null })
  const user = await t.make.user({ email: mail() })
  await t.make.orgMember({ ...org, userId: user.id, roleId: org.roleId })
  const answer = await someone({ email: user.email }).tokens(org.orgId)
  expect(answer.body.user.id).toBe(user.id)
  expect((await audits(user.id)).map(({ action }) => action)).toEqual(['sso.identity.linked', 'user.login'])
  const me = { headers: { authorization: `Bearer ${answer.body.accessToken}` } }
  expect((await t.request('GET /auth/me', null, me)).body.permissions).toEqual(['devices:read'])
})

test('somebody who was invited accepts by coming in, with the role of the invitation; of an account of their own it takes more', async () => {
  const org = await open(idp, { autoProvision: false })
  const roleId = await t.make.role(org, ['sites:read'])
  const [fresh, taken] = [mail(), (await t.make.user({ email: mail() })).email]
  const invite = (email: string) =>
    t.request('POST /users/invite', org.admin, { body: { email, name: 'Ivy', roleId } })
  for (const email of [fresh, taken]) expect((await invite(email)).status).toBe(201)
  const ivy = someone({ email: fresh })
  const { body } = await ivy.tokens(org.orgId)
  const me = { headers: { authorization: `Bearer ${body.accessToken}` } }
  expect((await t.request('GET /auth/me', null, me)).body.permissions).toEqual(['sites:read'])
  expect((await audits(body.user.id)).at(-2)).toMatchObject({
    action: 'sso.user.provisioned',
    details: { ssoProviderId: org.providerId, invitationId: expect.any(String), roleId },
  })
  expect(await someone({ email: taken }).logIn(org.orgId)).toEqual({ error: 'no_org_access' })
  expect(await t.owner`select email from svc.invitations where org_id = ${org.orgId}`).toEqual([
    { email: taken },
  ])
  // Removed, a subject is nobody else by an address that is invited; by its own it comes back.
  expect((await t.request(`DELETE /users/${body.user.id}`, org.admin)).status).toBe(204)
  const other = mail()
  await invite(other)
  idp.accounts.set(ivy.who, { email: other, email_verified: true })
  expect(await ivy.logIn(org.orgId)).toEqual({ error: 'no_org_access' })
  idp.accounts.set(ivy.who, { email: fresh, email_verified: true })
  await invite(fresh)
  expect((await ivy.tokens(org.orgId)).body.user.id).toBe(body.user.id)
})

test('an account that another tenant’s provider brought is not taken by an invitation: its factor, its logins and its name stay', async () => {
  const [home, other] = [await open(idp), await startIdp(redirectUri)]
  const email = mail()
  const kim = someone({ email })
  const { body } = await kim.tokens(home.orgId)
  const me = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const setup = await t.request('POST /auth/mfa/setup', null, me(body.accessToken))
  const enabled = await t.request('POST /auth/mfa/enable', null, {
    ...me(body.accessToken),
    body: { code: await code({ totpSecret: setup.body.secret }) },
  })
  const theirs = await open(other)
  const invitation = { email, name: 'Owned', roleId: theirs.roleId }
  expect((await t.request('POST /users/invite', theirs.admin, { body: invitation })).status).toBe(201)
  other.accounts.set('x', { email, email_verified: true })
  expect(await browser('x').logIn(theirs.orgId)).toEqual({ error: 'no_org_access' })
  expect((await t.request('GET /auth/me', null, me(enabled.body.accessToken))).body.user).toMatchObject({
    mfaMethod: 'totp',
    name: email,
  })
  // Whoever reads the mailbox accepts by the link, also where passwords open nothing.
  await t.request(`PATCH /sso/providers/${theirs.providerId}`, theirs.admin, { body: { enforceSSO: true } })
  const link = { token: await outbox.tokenFor(email), password: 'turquoise walrus keeps time' }
  expect((await t.request('POST /auth/accept-invite', null, { body: link })).status).toBe(200)
  expect(await browser('x').logIn(theirs.orgId)).toHaveProperty('code')
})

test('whoever the provider made anew, and the organization invited anew, is in; who had the address before is not', async () => {
  const org = await open(idp)
  const email = mail()
  const before = someone({ email })
  const { body } = await before.tokens(org.orgId)
  expect((await t.request(`DELETE /users/${body.user.id}`, org.admin)).status).toBe(204)
  const invitation = { email, name: 'Kim', roleId: org.roleId }
  expect((await t.request('POST /users/invite', org.admin, { body: invitation })).status).toBe(201)
  const anew = someone({ email })
  expect((await anew.tokens(org.orgId)).body.user.id).toBe(body.user.id)
  expect(await before.logIn(org.orgId)).toEqual({ error: 'sso_link_required' })
})

describe('nobody is linked by an address alone', () => {
  const refused = async (email: string, org: { orgId: string }) => someone({ email }).logIn(org.orgId)

  test('of another tenant, of the partner, of the platform, or that is disabled', async () => {
    const org = await open(idp)
    const elsewhere = await t.make.org()
    const strangers = await Promise.all([
      t.make.user({ email: mail() }).then(async (user) => {
        await t.make.orgMember({ ...elsewhere, userId: user.id, roleId: await t.make.role(elsewhere, []) })
        return user
      }),
      t.make.user({ email: mail() }),
      t.make.user({ email: mail() }).then(async (user) => {
        const roleId = await t.make.role({ partnerId: org.partnerId }, [])
        await t.make.partnerMember({ userId: user.id, partnerId: org.partnerId, roleId })
        await t.make.orgMember({ ...org, userId: user.id, roleId: org.roleId })
        return user
      }),
      t.make.user({ email: mail(), platformAdmin: true }).then(async (user) => {
        await t.make.orgMember({ ...org, userId: user.id, roleId: org.roleId })
        return user
      }),
      t.make.user({ email: mail(), status: 'disabled' }).then(async (user) => {
        await t.make.orgMember({ ...org, userId: user.id, roleId: org.roleId })
        return user
      }),
    ])
    for (const { email } of strangers) expect(await refused(email, org)).toEqual({ error: 'no_org_access' })
    const linked = await t.db.rows`select from sso_identities where provider_id = ${org.providerId}`
    expect(linked).toEqual([])
  })

  test('that is linked already to somebody else of the provider', async () => {
    const org = await open(idp)
    const email = mail()
    await someone({ email }).tokens(org.orgId)
    expect(await refused(email, org)).toEqual({ error: 'sso_link_required' })
  })

  test('from a domain that is not listed', async () => {
    const org = await open(idp, { allowedDomains: null })
    const user = await t.make.user({ email: mail() })
    await t.make.orgMember({ ...org, userId: user.id, roleId: org.roleId })
    expect(await refused(user.email, org)).toEqual({ error: 'domain_not_allowed' })
  })
})

test.each([
  [{ email_verified: false }, 'sso_email_unverified'],
  [{ email_verified: undefined }, 'sso_email_unverified'],
  [{ email_verified: 'true' }, 'sso_email_unverified'],
  [{ email_verified: 1 }, 'sso_email_unverified'],
  [{ email: undefined }, 'sso_email_unverified'],
  [{ email: 'a@staff.example@evil.example' }, 'sso_email_unverified'],
  [{ email: 'a@evil.example@staff.example' }, 'sso_email_unverified'],
  [{ email: 'a@staff.example.evil.example' }, 'domain_not_allowed'],
  [{ email: 'a@evil-staff.example' }, 'domain_not_allowed'],
  [{ email: 'a@sub.staff.example' }, 'domain_not_allowed'],
  [{ email: 'a@st\u{430}ff.example' }, 'domain_not_allowed'],
  [{ email: 'a@staff.example+x' }, 'sso_email_unverified'],
  [{ email: 'a+staff.example@evil.example' }, 'domain_not_allowed'],
])('%j ends with %s', async (claims, error) => {
  const org = await open(idp)
  const before = await t.db.rows`select id from users`
  expect(await someone({ email: mail(), ...claims }).logIn(org.orgId)).toEqual({ error })
  expect(await t.db.rows`select id from users`).toHaveLength(before.length)
  // Written after the browser was sent on.
  const last = async () => (await audits(org.providerId)).at(-1)
  await expect
    .poll(last)
    .toMatchObject({ action: 'sso.callback.rejected', result: 'denied', details: { code: error } })
})

test('unknown users are told so, and a default role that was deleted is none', async () => {
  const closed = await open(idp, { autoProvision: false })
  expect(await someone({ email: mail() }).logIn(closed.orgId)).toEqual({ error: 'user_not_found' })
  const org = await open(idp)
  await t.owner`delete from svc.roles where id = ${org.roleId}`
  expect(await someone({ email: mail() }).logIn(org.orgId)).toEqual({ error: 'default_role_required' })
})

test('a user who cancels, or is removed, does not come in', async () => {
  const org = await open(idp)
  expect(await browser('').logIn(org.orgId)).toEqual({ error: 'sso_error' })
  const kim = someone({ email: mail() })
  const { body } = await kim.tokens(org.orgId)
  expect((await t.request(`DELETE /users/${body.user.id}`, org.admin)).status).toBe(204)
  expect(await kim.logIn(org.orgId)).toEqual({ error: 'no_org_access' })
})

describe('a login that is under way', () => {
  test('is over after ten minutes, and good once', async () => {
    const org = await open(idp)
    const [late, kim] = [someone({ email: mail() }), someone({ email: mail() })]
    const lateCallback = await late.toCallback(org.orgId)
    const callback = await kim.toCallback(org.orgId)
    expect(outcomeOf(await kim.follow(callback))).toHaveProperty('code')
    expect(outcomeOf(await kim.follow(callback))).toEqual({ error: 'invalid_callback' })
    t.clock.advance(10 * 60_000)
    expect(outcomeOf(await late.follow(lateCallback))).toEqual({ error: 'session_expired' })
  })

  test.each([
    [
      'deactivated',
      'provider_not_found',
      (org: Parameters<typeof setStatus>[0]) => setStatus(org, 'testing'),
    ],
    [
      'suspended with its organization',
      'provider_not_found',
      (org: { orgId: string }) =>
        t.owner`update svc.organizations set status = 'suspended' where id = ${org.orgId}`,
    ],
    [
      'deleted',
      'provider_not_found',
      (org: Parameters<typeof setStatus>[0]) =>
        t.request(`DELETE /sso/providers/${org.providerId}`, org.admin),
    ],
    [
      'configured anew',
      'sso_config_changed',
      (org: Parameters<typeof patch>[0]) => patch(org, { clientSecret: 'new' }),
    ],
  ] as const)('is void when its provider was %s: %s', async (_, error, change) => {
    const org = await open(idp)
    const kim = someone({ email: mail() })
    const callback = await kim.toCallback(org.orgId)
    await change(org)
    expect(outcomeOf(await kim.follow(callback))).toEqual({ error })
  })

  test('is bound to its browser by a cookie that comes back from another site, and survives another’s try', async () => {
    const org = await open(idp)
    const [kim, thief] = [someone({ email: mail() }), someone({ email: mail() })]
    const start = await t.request(`GET /sso/login/${org.orgId}`)
    expect(String(start.headers['set-cookie'])).toMatch(
      /^svc_sso=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(start.headers['cache-control']).toBe('no-store')
    const callback = await kim.toCallback(org.orgId)
    expect(outcomeOf(await thief.follow(callback))).toEqual({ error: 'invalid_callback' })
    await thief.toCallback(org.orgId)
    expect(outcomeOf(await thief.follow(callback))).toEqual({ error: 'invalid_callback' })
    expect(outcomeOf(await kim.follow(callback))).toHaveProperty('code')
  })

  test.each([
    '',
    '?state=x',
    '?code=x',
    '?state=x&code=y&iss=z',
    `?state=${'x'.repeat(500)}`,
    '?error=access_denied',
  ])('does not begin at the callback: %s', async (query) => {
    const answer = await t.request(`GET /sso/callback${query}`)
    expect([answer.status, answer.headers['location']]).toEqual([
      302,
      'http://svc.test/login?error=invalid_callback',
    ])
  })
})

describe('a code', () => {
  test('is exchanged once, within a minute, by the browser that it was given to', async () => {
    const org = await open(idp)
    const [kim, thief] = [someone({ email: mail() }), someone({ email: mail() })]
    await thief.logIn(org.orgId)
    const came = await kim.logIn(org.orgId)
    const code = 'code' in came ? came.code : ''
    expect(code).toMatch(/^svcs_[\w-]{43}$/)
    const stolen = await thief.ask('POST /sso/exchange', { code })
    expect([stolen.status, stolen.body.error.code]).toEqual([400, 'LINK_INVALID'])
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => kim.ask('POST /sso/exchange', { code })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(5)
    const late = await kim.logIn(org.orgId)
    t.clock.advance(60_000)
    expect((await kim.ask('POST /sso/exchange', late)).status).toBe(400)
  })

  test('is worth nothing once its user or its provider may not log in any more', async () => {
    const org = await open(idp)
    const kim = someone({ email: mail() })
    const { body } = await kim.tokens(org.orgId)
    const code = await kim.logIn(org.orgId)
    await t.owner`update svc.users set status = 'disabled' where id = ${body.user.id}`
    expect((await kim.ask('POST /sso/exchange', code)).status).toBe(400)
    await t.owner`update svc.users set status = 'active' where id = ${body.user.id}`
    const next = await kim.logIn(org.orgId)
    await setStatus(org, 'inactive')
    expect((await kim.ask('POST /sso/exchange', next)).status).toBe(400)
  })
})
