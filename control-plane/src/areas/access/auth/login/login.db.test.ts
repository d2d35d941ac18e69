import { hash } from '@node-rs/argon2'
import { expect, test, vi } from 'vitest'
import { accountsOf, claimsOf, cookiesOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'

const t = await testApp()
const { account, logIn, person, auditOf, nextAddress } = accountsOf(t)

test('a login without a second factor answers the user and both tokens, and sets the cookies', async () => {
  const who = await account()
  const answer = await logIn(who)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    mfaRequired: false,
    user: { id: who.userId, email: who.email, name: expect.any(String), avatarUrl: null },
    accessToken: expect.any(String),
    refreshToken: expect.stringMatching(/^svcr_[\w-]{43}$/),
    expiresInSeconds: 900,
  })
  const { svc_refresh_token: refresh, svc_csrf_token: csrf } = cookiesOf(answer)
  expect(refresh?.value).toBe(answer.body.refreshToken)
  expect(refresh?.attributes).toMatch(/Max-Age=604800; Path=\/api\/v1\/auth; HttpOnly; SameSite=Strict$/)
  expect(csrf?.attributes).toMatch(/Path=\/; SameSite=Strict$/)
  expect(claimsOf(answer.body.accessToken)).toMatchObject({ mfa: false, sub: who.userId })
  const me = await t.request('GET /auth/me', person(who, answer.body.accessToken))
  expect(me.body.user).toMatchObject({ id: who.userId, email: who.email, lastLoginAt: expect.any(String) })
  expect(await auditOf(who.userId, 'user.login')).toMatchObject([
    { result: 'success', partnerId: who.partnerId, orgId: null, actorId: who.userId },
  ])
})

test('the login of an organization’s member is filed under the organization', async () => {
  const who = await account({ member: 'org' })
  expect((await logIn(who)).status).toBe(200)
  expect(await auditOf(who.userId, 'user.login')).toMatchObject([
    { partnerId: who.partnerId, orgId: who.orgId },
  ])
})

test('whoever is made a member by another partner still logs in where they belong', async () => {
  const who = await account({ member: 'org' })
  const partnerId = await t.make.partner()
  const stranger = await t.people.partnerAdmin(partnerId)
  const roleId = await t.make.role({ partnerId }, ['devices:read'])
  const body = { email: who.email, name: 'Kim', roleId, orgAccess: 'all' }
  expect((await t.request('POST /users/invite', stranger, { body })).status).toBe(201)
  const mem = { kind: 'organization', id: who.orgId, partnerId: who.partnerId }
  expect(claimsOf((await logIn(who)).body.accessToken)).toMatchObject({ mem })
})

test('of several memberships in one partner the partner’s own is what a login is for, then the oldest', async () => {
  const who = await account({ member: 'org' })
  const { partnerId } = who
  const second = await t.make.org(partnerId)
  await t.make.orgMember({ ...second, userId: who.userId, roleId: await t.make.role(second, []) })
  const membershipOf = async () => claimsOf((await logIn(who)).body.accessToken)
  expect(await membershipOf()).toMatchObject({ mem: { id: who.orgId } })
  const roleId = await t.make.role({ partnerId }, [])
  await t.make.partnerMember({ userId: who.userId, partnerId, roleId }, 'all')
  expect(await membershipOf()).toMatchObject({ mem: { kind: 'partner', id: partnerId } })
})

test('an e-mail is the same in any case and with spaces around', async () => {
  const who = await account()
  expect((await logIn({ ...who, email: ` ${who.email.toUpperCase()} ` })).status).toBe(200)
})

test('unknown, wrong, disabled, invited and suspended are refused alike; the audit log tells them apart', async () => {
  const good = await account()
  const [disabled, invited, suspended] = await Promise.all([
    account({ status: 'disabled' }),
    account({ status: 'invited' }),
    account({ partnerStatus: 'suspended' }),
  ])
  const answers = await Promise.all([
    logIn({ email: 'nobody@example.com', password: good.password }),
    logIn({ ...good, password: 'wrong' }),
    logIn(disabled),
    logIn(invited),
    logIn(suspended),
  ])
  for (const { status, body, headers } of answers) {
    expect(status).toBe(401)
    expect(body).toEqual({
      error: { code: 'INVALID_CREDENTIALS', message: 'e-mail or password is wrong', details: [] },
    })
    expect(headers['set-cookie']).toBeUndefined()
  }
  const reasons = await Promise.all(
    [good, disabled, invited, suspended].map(({ userId }) => auditOf(userId, 'user.login')),
  )
  expect(reasons.map(([row]) => [row?.result, row?.details['reason']])).toEqual([
    ['failure', 'wrong password'],
    ['failure', 'account not active'],
    ['failure', 'account not active'],
    ['failure', 'tenant not active'],
  ])
  const [unknown] = await t.db
    .rows`select result, resource_id from audit_log where resource_name = 'nobody@example.com'`
  expect(unknown).toEqual({ result: 'failure', resourceId: null })
})

test('a user who belongs to nothing is told so, but only with the right password', async () => {
  const stray = await account({ member: 'none' })
  const told = await logIn(stray)
  expect(told.status).toBe(403)
  expect(told.body.error).toMatchObject({
    code: 'CONTEXT_REQUIRED',
    message: 'partner or organization context required',
  })
  expect((await logIn({ ...stray, password: 'wrong' })).body.error.code).toBe('INVALID_CREDENTIALS')
})

test('an unknown account costs a password check too', async () => {
  const verify = vi.spyOn(t.core.ports.passwords, 'verify')
  await logIn({ email: 'nobody-at-all@example.com', password: 'x' })
  expect(verify).toHaveBeenCalledExactlyOnceWith(undefined, 'x')
  verify.mockRestore()
})

test('an unknown key in the body is refused and named', async () => {
  const answer = await t.request('POST /auth/login', null, {
    body: { email: 'a@b.c', password: 'x', admin: true },
  })
  expect(answer.status).toBe(400)
  expect(answer.body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: [{ in: 'body', field: 'admin', message: 'is not known' }],
  })
})

test('after five failures from one address even the right password waits; another address does not', async () => {
  const who = await account()
  const from = { remoteAddress: nextAddress() }
  for (let i = 0; i < 5; i++) expect((await logIn({ ...who, password: 'wrong' }, from)).status).toBe(401)
  const limited = await logIn(who, from)
  expect(limited.status).toBe(429)
  expect(limited.body).toMatchObject({ error: { code: 'RATE_LIMITED' }, retryAfter: expect.any(Number) })
  expect(limited.body.error.message).toBe('too many failed logins with this e-mail from this address')
  expect(limited.body.retryAfter).toBeGreaterThan(880)
  expect((await logIn(who)).status).toBe(200)
  t.clock.advance(15 * 60_000)
  expect((await logIn(who, from)).status).toBe(200)
})

test('right logins count for nothing against the limit', async () => {
  const who = await account()
  const from = { remoteAddress: nextAddress() }
  for (let i = 0; i < 8; i++) expect((await logIn(who, from)).status).toBe(200)
})

test('the limit says the same of an account that does not exist', async () => {
  const guess = { email: 'nobody-at-all@example.com', password: 'x' }
  const from = { remoteAddress: nextAddress() }
  for (let i = 0; i < 5; i++) expect((await logIn(guess, from)).status).toBe(401)
  const { status, body } = await logIn(guess, from)
  expect([status, body.error.message]).toEqual([
    429,
    'too many failed logins with this e-mail from this address',
  ])
})

test('parallel guesses do not slip past the limit', async () => {
  const who = await account()
  const from = { remoteAddress: nextAddress() }
  const answers = await Promise.all(
    Array.from({ length: 15 }, () => logIn({ ...who, password: 'wrong' }, from)),
  )
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
})

test('one address that tries fifty accounts is stopped', async () => {
  const from = { remoteAddress: nextAddress() }
  const tries = (n: number) =>
    Promise.all(
      Array.from({ length: n }, (_, i) =>
        logIn({ email: `spray-${n}-${i}@example.com`, password: 'x' }, from),
      ),
    )
  expect(new Set((await tries(40)).map(({ status }) => status))).toEqual(new Set([401]))
  expect(new Set((await tries(10)).map(({ status }) => status))).toEqual(new Set([401]))
  const { status, body } = await logIn(await account(), from)
  expect([status, body.error.message]).toEqual([429, 'too many failed logins from this address'])
})

test('an account that is guessed at from everywhere gets slow, but is not locked', async () => {
  const who = await account()
  await Promise.all(Array.from({ length: 20 }, () => logIn({ ...who, password: 'wrong' })))
  const start = performance.now()
  expect((await logIn(who)).status).toBe(200)
  expect(performance.now() - start).toBeGreaterThan(1_900)
})

test('a hash made under weaker parameters is replaced at the next login', async () => {
  const weak = await hash('correct horse battery staple', { memoryCost: 8_192, timeCost: 1, parallelism: 1 })
  const who = await account({ passwordHash: weak })
  expect((await logIn(who)).status).toBe(200)
  const [user] = await t.db.rows<{
    passwordHash: string
  }>`select password_hash from users where id = ${who.userId}`
  expect(user?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect((await logIn(who)).status).toBe(200)
})

test('with a second factor there is a question instead of tokens: no cookie, no audit row, no access', async () => {
  const who = await account({ totp: true })
  const answer = await logIn(who)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    mfaRequired: true,
    tempToken: expect.stringMatching(/^svct_/),
    mfaMethod: 'totp',
  })
  expect(answer.headers['set-cookie']).toBeUndefined()
  expect(await auditOf(who.userId, 'user.login')).toEqual([])
  const bearer = { headers: { authorization: `Bearer ${answer.body.tempToken}` } }
  expect((await t.request('GET /auth/me', null, bearer)).status).toBe(401)
  expect(
    (await t.request('POST /auth/refresh', null, { body: { refreshToken: answer.body.tempToken } })).status,
  ).toBe(401)
})

test('an e-mail that cannot be stored is refused before a password is checked', async () => {
  const verify = vi.spyOn(t.core.ports.passwords, 'verify')
  for (const email of ['a\ud800@x.example', 'a\0@x.example']) {
    const answer = await logIn({ email, password: 'x' })
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, 'email'])
  }
  expect(verify).not.toHaveBeenCalled()
  verify.mockRestore()
})

test('an e-mail that grows beyond what an audit row takes is a failed login like any other', async () => {
  const email = `${'\ufdfa'.repeat(14)}aa${'\u{1f600}'.repeat(40)}` // cut in the middle of a pair
  const remoteAddress = nextAddress()
  const answers = []
  for (let n = 0; n < 6; n++) answers.push((await logIn({ email, password: 'x' }, { remoteAddress })).status)
  expect(answers).toEqual([401, 401, 401, 401, 401, 429])
})
