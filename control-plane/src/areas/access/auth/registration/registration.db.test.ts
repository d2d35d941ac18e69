import { expect, test } from 'vitest'
import { accountsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { outboxOf } from '../../../../../test/harness/outbox.ts'

const t = await testApp()
const { account, logIn, logInFully, person, auditOf, nextAddress } = accountsOf(t)
const outbox = outboxOf(t)

const password = 'turquoise walrus keeps time'
let people = 0
const nextEmail = () => `new-${people++}@example.com`
const register = (email: string, more: object = {}, remoteAddress = nextAddress()) =>
  t.request('POST /auth/register', null, {
    body: { email, password, name: 'Ann Lee', ...more },
    remoteAddress,
  })
const registerPartner = (
  email: string,
  companyName: string,
  more: object = {},
  remoteAddress = nextAddress(),
) =>
  t.request('POST /auth/register-partner', null, {
    body: { email, password, name: 'Ann Lee', companyName, ...more },
    remoteAddress,
  })
const digest = async () =>
  (
    await t.owner`
    select (select count(*) from svc.users) as users, (select count(*) from svc.partners) as partners,
      (select count(*) from svc.roles) as roles, (select count(*) from svc.audit_log) as rows`
  )[0]

test('an account is made that belongs to nothing: it can log in nowhere until it is invited', async () => {
  const email = nextEmail()
  const made = await register(` ${email.toUpperCase()} `)
  expect([made.status, made.body]).toEqual([201, { email, name: 'Ann Lee' }])
  const [row] = await t.owner`select id, status, email_verified_at from svc.users where email = ${email}`
  expect(row).toMatchObject({ status: 'active', emailVerifiedAt: null })
  const login = await logIn({ email, password })
  expect([login.status, login.body.error.code]).toEqual([403, 'CONTEXT_REQUIRED'])
  expect(await auditOf(row?.['id'], 'user.register')).toMatchObject([
    { result: 'success', partnerId: null, actorId: row?.['id'] },
  ])
  expect((await outbox.mailsTo(email)).map(({ text }) => text)).toEqual(['Your account'])
})

test('a known address gets the same answer, and its owner a mail; nothing is changed', async () => {
  const who = await account()
  const before = await digest()
  const again = await register(who.email, { password: `${password} mine` })
  const partner = await registerPartner(who.email, 'Mine Ltd', { password: `${password} mine` })
  const fresh = await register(nextEmail())
  for (const answer of [again, partner]) {
    expect([answer.status, Object.keys(answer.body)]).toEqual([fresh.status, Object.keys(fresh.body)])
    expect(answer.headers['content-type']).toBe(fresh.headers['content-type'])
  }
  const after = await digest()
  expect(Number(after?.['users'])).toBe(Number(before?.['users']) + 1)
  expect([after?.['partners'], after?.['roles']]).toEqual([before?.['partners'], before?.['roles']])
  expect((await logIn(who)).status).toBe(200)
  expect((await logIn({ ...who, password: `${password} mine` })).status).toBe(401)
  expect((await outbox.mailsTo(who.email)).map(({ text }) => text)).toEqual([
    'You have an account already',
    'You have an account already',
  ])
})

test('whoever registers an address again and again fills no mailbox: the answer is the same', async () => {
  const who = await account()
  const answers = []
  for (let n = 0; n < 5; n++)
    answers.push(await (n % 2 ? register(who.email) : registerPartner(who.email, `Again ${n}`)))
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  expect(await outbox.mailsTo(who.email)).toHaveLength(3)
})

test('what a stranger typed stands in no mail', async () => {
  const email = nextEmail()
  await register(email, { name: 'Win at http://evil.example' })
  expect(JSON.stringify(await outbox.mailsTo(email))).not.toContain('evil')
})

test('a partner comes with its roles and an administrator who must enroll an authenticator', async () => {
  const email = nextEmail()
  const made = await registerPartner(email, 'Provider Ltd', { acceptTerms: true })
  expect([made.status, made.body]).toEqual([201, { email, name: 'Ann Lee' }])
  const [partner] = await t.owner<
    { id: string; slug: string }[]
  >`select id, slug from svc.partners where name = 'Provider Ltd'`
  expect(partner?.slug).toBe('provider-ltd')
  const who = { ...(await account()), email, password }
  const { accessToken, body } = await logInFully(who)
  who.userId = body.user.id
  const me = await t.request('GET /auth/me', person(who, accessToken))
  expect(me.body).toMatchObject({ permissions: ['*:*'], mfaEnrollmentRequired: true, platformAdmin: false })
  expect((await t.request('GET /orgs/organizations', person(who, accessToken))).status).toBe(428)
  const roles =
    await t.owner`select name, is_system, force_mfa from svc.roles where partner_id = ${partner?.id ?? ''}`
  expect(roles).toContainEqual({ name: 'Partner Admin', isSystem: true, forceMfa: true })
  expect(roles.length).toBeGreaterThan(1)
  expect(await auditOf(partner?.id ?? '', 'partner.create')).toMatchObject([
    { result: 'success', partnerId: partner?.id, actorId: body.user.id },
  ])
})

test('partners of one name get slugs of their own, also at the same time', async () => {
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => registerPartner(nextEmail(), 'Same & Söhne')),
  )
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
  const slugs = await t.owner<
    { slug: string }[]
  >`select slug from svc.partners where name = 'Same & Söhne' order by slug`
  expect(slugs.map(({ slug }) => slug)).toEqual([
    'same-sohne',
    ...Array.from({ length: 3 }, () => expect.stringMatching(/^same-sohne-[0-9a-f]{8}$/)),
  ])
})

test('one address is registered once, however many try at the same time', async () => {
  const email = nextEmail()
  const answers = await Promise.all(Array.from({ length: 5 }, (_, i) => registerPartner(email, `Racer ${i}`)))
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  const [made] = await t.owner<
    { n: number }[]
  >`select count(*)::int as n from svc.partners where name like 'Racer %'`
  expect(made?.n).toBe(1)
})

test('weak passwords, and what is no address or name, make nothing', async () => {
  const before = await digest()
  const email = nextEmail()
  for (const weak of ['short', 'password123', email, 'Provider-Provider-1', 'x'.repeat(257)]) {
    const answer = await registerPartner(email, 'Provider', { password: weak })
    expect([answer.status, answer.body.error.code]).toEqual([400, 'WEAK_PASSWORD'])
  }
  for (const [field, value] of [
    ['email', 'nobody'],
    ['email', `${'x'.repeat(250)}@example.com`],
    ['email', 'a@b.example\r\nBcc: c@d.example'],
    ['name', ' '],
    ['companyName', 'x'],
    ['acceptTerms', false],
    ['isSystem', true],
  ] as const) {
    const answer = await registerPartner(email, 'Provider', { [field]: value })
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, field])
  }
  expect(await digest()).toEqual(before)
})

test('an address registers five accounts and three partners an hour', async () => {
  const [one, other] = [nextAddress(), nextAddress()]
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await register(nextEmail(), {}, one)).status)
  expect(statuses).toEqual([201, 201, 201, 201, 201, 429])
  const partners = []
  for (let i = 0; i < 4; i++)
    partners.push((await registerPartner(nextEmail(), `P${i}${i}`, {}, other)).status)
  expect(partners).toEqual([201, 201, 201, 429])
})

test('a password that a link set proves the address', async () => {
  const email = nextEmail()
  await registerPartner(email, 'Proved Ltd')
  await t.request('POST /auth/forgot-password', null, { body: { email }, remoteAddress: nextAddress() })
  const body = { token: await outbox.tokenFor(email), password: `${password} again` }
  expect(
    (await t.request('POST /auth/reset-password', null, { body, remoteAddress: nextAddress() })).status,
  ).toBe(204)
  const [row] = await t.owner`select email_verified_at from svc.users where email = ${email}`
  expect(row?.['emailVerifiedAt']).toBeInstanceOf(Date)
})

const closed = await testApp({ env: { ENABLE_REGISTRATION: 'false' } })

test.each(['register', 'register-partner'])(
  'without ENABLE_REGISTRATION there is no /auth/%s',
  async (path) => {
    for (const body of [{}, { email: nextEmail(), password, name: 'Ann', companyName: 'Provider' }]) {
      const answer = await closed.request(`POST /auth/${path}`, null, { body })
      expect([answer.status, answer.body.error.code]).toEqual([404, 'NOT_FOUND'])
    }
    const nothing = await closed.request('POST /auth/nothing', null, { body: {} })
    expect((await closed.request(`POST /auth/${path}`, null, { body: {} })).body).toEqual(nothing.body)
  },
)
