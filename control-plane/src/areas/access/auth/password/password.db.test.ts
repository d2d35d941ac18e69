import { expect, test } from 'vitest'
import { accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { outboxOf } from '../../../../../test/harness/outbox.ts'

const t = await testApp()
const { account, logIn, logInFully, verify, code, person, auditOf, nextAddress } = accountsOf(t)
const outbox = outboxOf(t)

const fresh = 'turquoise walrus keeps time'
const minutes = (n: number) => n * 60_000
const forgot = (email: string, headers: Record<string, string> = {}) =>
  t.request('POST /auth/forgot-password', null, { body: { email }, headers, remoteAddress: nextAddress() })
const reset = (token: string, password = fresh) =>
  t.request('POST /auth/reset-password', null, { body: { token, password }, remoteAddress: nextAddress() })
const me = (who: Parameters<typeof person>[0], token: string) => t.request('GET /auth/me', person(who, token))
const refresh = (refreshToken: string) =>
  t.request('POST /auth/refresh', null, { body: { refreshToken }, remoteAddress: nextAddress() })

test('a forgotten password: the mailed link sets a new one, once, and every session ends', async () => {
  const who = await account()
  const [one, other] = [await logInFully(who), await logInFully(who)]
  const asked = await forgot(who.email.toUpperCase())
  expect([asked.status, asked.body]).toEqual([200, { accepted: true }])
  const token = await outbox.tokenFor(who.email)
  expect(token).toMatch(/^svcl_/)
  expect((await reset(token)).status).toBe(204)
  for (const { accessToken, refreshToken } of [one, other]) {
    expect((await me(who, accessToken)).status).toBe(401)
    expect((await refresh(refreshToken)).status).toBe(401)
  }
  expect((await logIn(who)).status).toBe(401)
  expect((await logIn({ ...who, password: fresh })).status).toBe(200)
  expect((await reset(token)).body.error.code).toBe('LINK_INVALID')
  expect(await auditOf(who.userId, 'user.password.reset')).toMatchObject([
    { result: 'success', partnerId: who.partnerId, actorId: who.userId },
  ])
  expect((await outbox.mailsTo(who.email)).map(({ text }) => text)).toEqual([
    'Reset your password',
    'Your password was changed',
  ])
})

test('ten parallel uses of one link: one sets the password', async () => {
  const who = await account()
  await forgot(who.email)
  const token = await outbox.tokenFor(who.email)
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => reset(token, `${fresh} ${i}`)))
  expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
  expect(answers.filter(({ body }) => body?.error?.code === 'LINK_INVALID')).toHaveLength(9)
  const winner = answers.findIndex(({ status }) => status === 204)
  expect((await logIn({ ...who, password: `${fresh} ${winner}` })).status).toBe(200)
})

test('a link is void after an hour, after a newer one, and after the password changed', async () => {
  const who = await account()
  await forgot(who.email)
  const first = await outbox.tokenFor(who.email)
  await forgot(who.email)
  const second = await outbox.tokenFor(who.email)
  expect(first).not.toBe(second)
  expect((await reset(first)).status).toBe(400)
  const { accessToken } = await logInFully(who)
  const body = { currentPassword: who.password, newPassword: fresh }
  const changed = await t.request('POST /auth/change-password', person(who, accessToken), { body })
  expect(changed.status).toBe(200)
  expect((await reset(second)).status).toBe(400)
  await forgot(who.email)
  const third = await outbox.tokenFor(who.email)
  t.clock.advance(minutes(60))
  expect((await reset(third)).status).toBe(400)
})

test('a weak password uses no link up', async () => {
  const who = await account()
  await forgot(who.email)
  const token = await outbox.tokenFor(who.email)
  for (const weak of ['short', 'password123', who.email, 'x'.repeat(257)]) {
    const answer = await reset(token, weak)
    expect([answer.status, answer.body.error.code]).toEqual([400, 'WEAK_PASSWORD'])
  }
  expect((await reset(token)).status).toBe(204)
})

test('a tenant may ask for longer passwords', async () => {
  const who = await account({ member: 'org' })
  const { accessToken } = await logInFully(who)
  const settings = { security: { minLength: 20 } }
  await t.owner`update svc.organizations set settings = ${t.owner.json(settings)} where id = ${who.orgId ?? ''}`
  const change = (newPassword: string) =>
    t.request('POST /auth/change-password', person(who, accessToken), {
      body: { currentPassword: who.password, newPassword },
    })
  const short = await change('zebra lamp 9 quart')
  expect(short.body.error).toMatchObject({ code: 'WEAK_PASSWORD', details: [{ minLength: 20 }] })
  expect((await change('zebra lamp 9 quartz moon')).status).toBe(200)
})

test('nobody learns whether there is an account, and only an account that is active with a password gets mail', async () => {
  const [disabled, invited] = [await account({ status: 'disabled' }), await account({ status: 'invited' })]
  const keyless = await t.make.user()
  const answers = []
  for (const email of [
    'nobody@example.com',
    disabled.email,
    invited.email,
    keyless.email,
    (await account()).email,
  ])
    answers.push(await forgot(email))
  expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
  for (const email of ['nobody@example.com', disabled.email, invited.email, keyless.email])
    expect(await outbox.mailsTo(email)).toEqual([])
})

test('no account is looked at before the answer, so that its time tells of none', async () => {
  const { email } = await account()
  await outbox.settled()
  await t.owner`alter table svc.users rename to users_away`
  const statuses = [(await forgot(email)).status, (await forgot('nobody@example.com')).status]
  await t.owner`alter table svc.users_away rename to users`
  expect(statuses).toEqual([200, 200])
  expect(await outbox.mailsTo(email)).toHaveLength(1)
})

test('an account gets three mails an hour, an address may ask ten times, and the fourth is not told from the third', async () => {
  const who = await account()
  for (let i = 0; i < 5; i++) expect((await forgot(who.email)).status).toBe(200)
  expect(await outbox.mailsTo(who.email)).toHaveLength(3)
  t.clock.advance(minutes(61))
  await forgot(who.email)
  expect(await outbox.mailsTo(who.email)).toHaveLength(4)
  const remoteAddress = nextAddress()
  const ask = (i: number) =>
    t.request('POST /auth/forgot-password', null, { body: { email: `n${i}@example.com` }, remoteAddress })
  for (let i = 0; i < 10; i++) expect((await ask(i)).status).toBe(200)
  expect((await ask(11)).status).toBe(429)
})

test('the link leads to the configured address, whatever the request says', async () => {
  const who = await account()
  await forgot(who.email, {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    origin: 'http://evil.example',
  })
  const [mail] = await outbox.mailsTo(who.email)
  expect(mail?.link).toMatch(/^http:\/\/svc\.test\/reset-password#token=svcl_/)
})

test('a reset takes no second factor away and is no login', async () => {
  const who = await account({ totp: true })
  await forgot(who.email)
  const done = await reset(await outbox.tokenFor(who.email))
  expect([done.status, done.headers['set-cookie']]).toEqual([204, undefined])
  expect((await logIn({ ...who, password: fresh })).body).toMatchObject({
    mfaRequired: true,
    mfaMethod: 'totp',
  })
})

test('a link of an account that was disabled since is as an unknown one', async () => {
  const who = await account()
  await forgot(who.email)
  const token = await outbox.tokenFor(who.email)
  await t.owner`update svc.users set status = 'disabled' where id = ${who.userId}`
  const [answer, unknown] = [await reset(token), await reset('svcl_unknown')]
  expect([answer.status, answer.body]).toEqual([400, unknown.body])
})

test('a changed password ends every session; the caller’s goes on with the pair of the answer', async () => {
  const who = await account({ totp: true })
  const [mine, other] = [await logInFully(who), await logInFully(who)]
  const body = { currentPassword: who.password, newPassword: fresh }
  const changed = await t.request('POST /auth/change-password', person(who, mine.accessToken), { body })
  expect(changed.status).toBe(200)
  expect(claimsOf(changed.body.accessToken)).toMatchObject({
    mfa: true,
    sid: claimsOf(mine.accessToken)['sid'],
  })
  for (const { accessToken, refreshToken } of [mine, other]) {
    expect((await me(who, accessToken)).status).toBe(401)
    expect((await refresh(refreshToken)).status).toBe(401)
  }
  // An old token of the login that goes on is dead without being taken for a thief's.
  expect((await me(who, changed.body.accessToken)).status).toBe(200)
  const next = await refresh(changed.body.refreshToken)
  expect(next.status).toBe(200)
  expect(claimsOf(next.body.accessToken)).toMatchObject({ mfa: true })
  expect(String(changed.headers['set-cookie'])).toContain(`svc_refresh_token=${changed.body.refreshToken}`)
  expect(await auditOf(who.userId, 'user.password.change')).toMatchObject([{ result: 'success' }])
  expect((await logIn({ ...who, password: fresh })).body.mfaRequired).toBe(true)
  expect((await logIn(who)).status).toBe(401)
})

test('a changed password makes no second factor fresh that is not', async () => {
  const who = await account({ totp: true })
  const { accessToken } = await logInFully(who)
  t.clock.advance(minutes(11))
  const body = { currentPassword: who.password, newPassword: fresh }
  const changed = await t.request('POST /auth/change-password', person(who, accessToken), { body })
  const stale = await t.request('POST /auth/mfa/recovery-codes', person(who, changed.body.accessToken))
  expect(stale.body.error.code).toBe('MFA_REQUIRED')
})

test('five wrong passwords are enough for a while; right ones and weak choices count for nothing', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const change = (currentPassword: string, newPassword = fresh) =>
    t.request('POST /auth/change-password', person(who, accessToken), {
      body: { currentPassword, newPassword },
    })
  for (let i = 0; i < 7; i++) expect((await change(who.password, 'weak')).status).toBe(400)
  for (let i = 0; i < 5; i++) expect((await change('wrong')).body.error.code).toBe('INVALID_CREDENTIALS')
  expect((await change(who.password)).status).toBe(429)
  expect(await auditOf(who.userId, 'user.password.change')).toMatchObject(
    Array.from({ length: 5 }, () => ({ result: 'failure', partnerId: who.partnerId })),
  )
  t.clock.advance(minutes(15))
  expect((await change(who.password)).status).toBe(200)
})

test('of parallel changes one is made', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, i) =>
      t.request('POST /auth/change-password', person(who, accessToken), {
        body: { currentPassword: who.password, newPassword: `${fresh} ${i}` },
      }),
    ),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(3)
})

test('a refresh that meets a change of the password does not outlive it', async () => {
  for (let round = 0; round < 5; round++) {
    const who = await account()
    const { accessToken, refreshToken } = await logInFully(who)
    const body = { currentPassword: who.password, newPassword: fresh }
    const [rotated, changed] = await Promise.all([
      refresh(refreshToken),
      t.request('POST /auth/change-password', person(who, accessToken), { body }),
    ])
    expect(changed.status).toBe(200)
    if (rotated.status === 200) {
      expect((await me(who, rotated.body.accessToken)).status).toBe(401)
      expect((await refresh(rotated.body.refreshToken)).status).toBe(401)
    }
    expect((await refresh(changed.body.refreshToken)).status).toBe(200)
  }
})

test('an account without a password has none to change', async () => {
  const person = await t.people.partnerAdmin(await t.make.partner())
  const body = { currentPassword: 'anything', newPassword: fresh }
  expect((await t.request('POST /auth/change-password', person, { body })).status).toBe(409)
})

test('a code at login still works after all of it', async () => {
  const who = await account({ totp: true })
  const { tempToken } = (await logIn(who)).body
  expect((await verify({ tempToken, code: await code(who) })).status).toBe(200)
})
