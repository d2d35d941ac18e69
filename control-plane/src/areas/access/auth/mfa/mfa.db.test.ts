import { expect, test } from 'vitest'
import { type Account, accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { outboxOf } from '../../../../../test/harness/outbox.ts'
import { inTransaction } from '../../../../kernel/db.ts'
import { useTotpStep } from './queries.ts'

const t = await testApp()
const { account, code, logIn, verify, logInFully, person, auditOf } = accountsOf(t)
const outbox = outboxOf(t)

const minutes = (n: number) => n * 60_000
const challenge = async (who: Account) => String((await logIn(who)).body.tempToken)
/** A code that was right long ago. */
const wrongCode = (who: Account) => code(who, -36_000)

async function begin(who: Account, accessToken: string) {
  const answer = await t.request('POST /auth/mfa/setup', person(who, accessToken))
  expect(answer.status).toBe(200)
  return answer.body as { secret: string; otpAuthUrl: string; qrCodeDataUrl: string; recoveryCodes: string[] }
}

test('a code completes the login: tokens that say mfa, cookies, one audit row', async () => {
  const who = await account({ totp: true })
  const done = await verify({ tempToken: await challenge(who), code: await code(who) })
  expect(done.status).toBe(200)
  expect(done.body).toMatchObject({ mfaRequired: false, user: { id: who.userId }, expiresInSeconds: 900 })
  expect(claimsOf(done.body.accessToken)).toMatchObject({ mfa: true, amr: ['pwd', 'otp', 'mfa'] })
  expect(String(done.headers['set-cookie'])).toContain('svc_refresh_token=svcr_')
  expect(await auditOf(who.userId, 'user.login')).toMatchObject([
    { result: 'success', details: { mfa: true } },
  ])
})

test('a password that is changed while it is checked opens no question for the code either', async () => {
  const who = await account({ totp: true })
  const other = await t.owner.reserve()
  await other`begin`
  await other`select set_config('app.scope', '"system"', true), svc.end_sessions(${who.userId}, 'password reset', now())`
  const waiting = logIn(who)
  await expect
    .poll(
      () =>
        t.owner`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%open_challenge%'`,
    )
    .toHaveLength(1)
  await other`commit`
  other.release()
  const answer = await waiting
  expect([answer.status, answer.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS'])
  expect((await logIn(who)).body.mfaRequired).toBe(true)
})

test.each([
  [
    'is suspended',
    (who: Account) => t.owner`update svc.partners set status = 'suspended' where id = ${who.partnerId}`,
  ],
  ['is left', (who: Account) => t.owner`delete from svc.partner_memberships where user_id = ${who.userId}`],
])('a login whose tenant %s before the code comes is none, and no row of the platform’s', async (_, end) => {
  const who = await account({ totp: true })
  const tempToken = await challenge(who)
  await end(who)
  const answer = await verify({ tempToken, code: await code(who) })
  expect([answer.status, answer.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS'])
  expect(answer.headers['set-cookie']).toBeUndefined()
  expect(await t.owner`select from svc.refresh_families where user_id = ${who.userId}`).toHaveLength(0)
  expect(await auditOf(who.userId, 'user.login')).toMatchObject([
    { result: 'failure', details: { reason: 'no usable tenant' } },
  ])
})

test('ten parallel logins with one code: exactly one gets in', async () => {
  const who = await account({ totp: true })
  const tempTokens = await Promise.all(Array.from({ length: 10 }, () => challenge(who)))
  const shown = await code(who)
  const answers = await Promise.all(tempTokens.map((tempToken) => verify({ tempToken, code: shown })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(
    answers.filter(({ status, body }) => status === 401 && body.error.code === 'MFA_CODE_INVALID'),
  ).toHaveLength(9)
  const rows = await auditOf(who.userId, 'user.login')
  expect(rows.filter(({ result }) => result === 'success')).toHaveLength(1)
  expect(rows.filter(({ result }) => result === 'failure')).toHaveLength(9)
})

test('twenty parallel uses of one time step: exactly one is true, and no older step ever is', async () => {
  const who = await account({ totp: true })
  const use = (step: number) =>
    inTransaction(t.core.pools.app, { kind: 'nobody' }, (tx) => useTotpStep(tx, who.userId, step))
  const used = await Promise.all(Array.from({ length: 20 }, () => use(1_000)))
  expect(used.filter(Boolean)).toHaveLength(1)
  expect(await use(999)).toBe(false)
  expect(await use(1_001)).toBe(true)
})

test('a tempToken opens one session, whatever comes at the same time', async () => {
  const who = await account({ totp: true })
  const tempToken = await challenge(who)
  const [recovery = ''] = who.recoveryCodes
  const answers = await Promise.all([
    verify({ tempToken, code: await code(who) }),
    verify({ tempToken, code: recovery }),
  ])
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401])
})

test('a used code is refused later too, and the next one is taken', async () => {
  const who = await account({ totp: true })
  const shown = await code(who)
  expect((await verify({ tempToken: await challenge(who), code: shown })).status).toBe(200)
  expect((await verify({ tempToken: await challenge(who), code: shown })).status).toBe(401)
  t.clock.advance(30_000)
  expect((await verify({ tempToken: await challenge(who), code: await code(who) })).status).toBe(200)
})

/** Away from the edge of a time step, so that it does not change under a test. */
const toMidStep = () => t.clock.advance((45 - ((t.clock.now().getTime() / 1_000) % 30)) * 1_000)

test('the code before this one still counts; older and later ones do not', async () => {
  const who = await account({ totp: true })
  const tempToken = await challenge(who)
  toMidStep()
  expect((await verify({ tempToken, code: await code(who, -90) })).status).toBe(401)
  expect((await verify({ tempToken, code: await code(who, 60) })).status).toBe(401)
  expect((await verify({ tempToken, code: await code(who, -30) })).status).toBe(200)
})

test('five wrong codes burn the tempToken: the right one comes too late', async () => {
  const who = await account({ totp: true })
  const tempToken = await challenge(who)
  const wrong = await wrongCode(who)
  for (let i = 0; i < 5; i++) expect((await verify({ tempToken, code: wrong })).status).toBe(401)
  expect((await verify({ tempToken, code: await code(who) })).status).toBe(401)
  expect(await auditOf(who.userId, 'user.login')).toMatchObject(
    Array.from({ length: 5 }, () => ({ result: 'failure' })),
  )
  expect((await verify({ tempToken: await challenge(who), code: await code(who) })).status).toBe(200)
})

test('a tempToken is over after five minutes', async () => {
  const who = await account({ totp: true })
  const tempToken = await challenge(who)
  t.clock.advance(minutes(5))
  expect((await verify({ tempToken, code: await code(who) })).status).toBe(401)
})

test('ten wrong codes of one user in fifteen minutes are enough, over however many logins', async () => {
  const who = await account({ totp: true })
  const wrong = await wrongCode(who)
  for (let login = 0; login < 2; login++) {
    const tempToken = await challenge(who)
    for (let i = 0; i < 5; i++) expect((await verify({ tempToken, code: wrong })).status).toBe(401)
  }
  const limited = await verify({ tempToken: await challenge(who), code: await code(who) })
  expect(limited.status).toBe(429)
  expect(limited.body.retryAfter).toBeGreaterThan(800)
  t.clock.advance(minutes(15))
  expect((await verify({ tempToken: await challenge(who), code: await code(who) })).status).toBe(200)
})

test('right codes count for nothing against that limit', async () => {
  const who = await account({ totp: true })
  for (let i = 0; i < 12; i++) expect((await logInFully(who)).accessToken).toBeDefined()
})

test('a recovery code works once, however it is grouped, and of five parallel uses one', async () => {
  const who = await account({ totp: true })
  const [first = '', second = ''] = who.recoveryCodes
  const grouped = first.toLowerCase().replaceAll(/(.{5})(?=.)/g, '$1-')
  expect((await verify({ tempToken: await challenge(who), code: grouped })).status).toBe(200)
  expect((await verify({ tempToken: await challenge(who), code: first })).status).toBe(401)
  const tempTokens = await Promise.all(Array.from({ length: 5 }, () => challenge(who)))
  const answers = await Promise.all(tempTokens.map((tempToken) => verify({ tempToken, code: second })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
})

test('another user’s code or recovery code opens nothing', async () => {
  const [mine, theirs] = [await account({ totp: true }), await account({ totp: true })]
  const tempToken = await challenge(mine)
  expect((await verify({ tempToken, code: theirs.recoveryCodes[0] ?? '' })).status).toBe(401)
  expect((await verify({ tempToken, code: await code(theirs) })).status).toBe(401)
})

test('a set-up is in force once a code confirms it; enable shows the same recovery codes again', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const setup = await begin(who, accessToken)
  expect(setup.otpAuthUrl).toContain(`secret=${setup.secret}`)
  expect(setup.otpAuthUrl).toContain('otpauth://totp/')
  expect(setup.qrCodeDataUrl).toMatch(/^data:image\/png;base64,/)
  expect(setup.recoveryCodes).toHaveLength(10)
  expect((await logIn(who)).body.mfaRequired).toBe(false)
  const shown = await code({ totpSecret: setup.secret })
  const enabled = await t.request('POST /auth/mfa/enable', person(who, accessToken), {
    body: { code: shown },
  })
  expect(enabled.status).toBe(200)
  expect(enabled.body.recoveryCodes).toEqual(setup.recoveryCodes)
  expect(claimsOf(enabled.body.accessToken)).toMatchObject({ mfa: true, sid: claimsOf(accessToken)['sid'] })
  expect(await auditOf(who.userId, 'auth.mfa.setup')).toMatchObject([
    { result: 'success', partnerId: who.partnerId },
  ])
  // The code that confirmed is used up, the secret is the user's own now, and each recovery code works.
  const enrolled = { ...who, totpSecret: setup.secret }
  expect((await verify({ tempToken: await challenge(enrolled), code: shown })).status).toBe(401)
  expect((await logInFully(enrolled)).body.user.id).toBe(who.userId)
  const last = setup.recoveryCodes.at(-1) ?? ''
  expect((await verify({ tempToken: await challenge(enrolled), code: last })).status).toBe(200)
  const me = await t.request('GET /auth/me', person(who, enabled.body.accessToken))
  expect(me.body.user).toMatchObject({ mfaEnabled: true, mfaMethod: 'totp' })
})

test('verify confirms a set-up as well', async () => {
  const who = await account({ member: 'org' })
  const { accessToken } = await logInFully(who)
  const setup = await begin(who, accessToken)
  const confirmed = await verify({ code: await code({ totpSecret: setup.secret }) }, person(who, accessToken))
  expect(confirmed.status).toBe(200)
  expect(confirmed.body.recoveryCodes).toEqual(setup.recoveryCodes)
  expect(await auditOf(who.userId, 'auth.mfa.setup')).toMatchObject([{ result: 'success', orgId: who.orgId }])
  expect((await logIn(who)).body.mfaRequired).toBe(true)
})

test('ten parallel confirmations of one set-up: one succeeds', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const setup = await begin(who, accessToken)
  const body = { code: await code({ totpSecret: setup.secret }) }
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => t.request('POST /auth/mfa/enable', person(who, accessToken), { body })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(9)
})

test('a set-up is over after ten minutes, and a wrong code confirms nothing', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const me = person(who, accessToken)
  const setup = await begin(who, accessToken)
  const wrong = await t.request('POST /auth/mfa/enable', me, {
    body: { code: await code({ totpSecret: setup.secret }, -36_000) },
  })
  expect(wrong.status).toBe(401)
  t.clock.advance(minutes(10))
  const late = await t.request('POST /auth/mfa/enable', me, {
    body: { code: await code({ totpSecret: setup.secret }) },
  })
  expect(late.status).toBe(409)
  expect((await logIn(who)).body.mfaRequired).toBe(false)
})

test('a begun set-up changes nothing about the factor in force, and needs it fresh', async () => {
  const who = await account({ totp: true })
  const { accessToken } = await logInFully(who)
  const setup = await begin(who, accessToken)
  expect((await logInFully(who)).accessToken).toBeDefined()
  t.clock.advance(minutes(11))
  const stale = await t.request('POST /auth/mfa/setup', person(who, accessToken))
  expect(stale.status).toBe(403)
  expect(stale.body.error.code).toBe('MFA_REQUIRED')
  const other = await verify({
    tempToken: await challenge(who),
    code: await code({ totpSecret: setup.secret }),
  })
  expect(other.status).toBe(401)
})

test('the factor is fresh for ten minutes, and a code renews it', async () => {
  const who = await account({ totp: true })
  const { accessToken } = await logInFully(who)
  const me = person(who, accessToken)
  const site = await t.make.site(await t.make.org(who.partnerId))
  const body = { name: 'key', orgId: site.orgId, siteId: site.siteId }
  expect((await t.request('POST /enrollment-keys', me, { body })).status).toBe(201)
  t.clock.advance(minutes(11))
  expect((await t.request('POST /enrollment-keys', me, { body })).body.error.code).toBe('MFA_REQUIRED')
  const shown = await code(who)
  const renewed = await verify({ code: shown }, me)
  expect(renewed.status).toBe(200)
  expect(renewed.body).toEqual({ mfaRequired: false, accessToken: expect.any(String), expiresInSeconds: 900 })
  expect((await t.request('POST /enrollment-keys', me, { body })).status).toBe(201)
  expect((await verify({ code: shown }, me)).status).toBe(401)
  expect(await auditOf(who.userId, 'auth.mfa.verify')).toMatchObject([
    { result: 'success' },
    { result: 'failure' },
  ])
})

test('a role that demands an authenticator stops everything but setting one up', async () => {
  const who = await account({ forceMfa: true })
  const { accessToken } = await logInFully(who)
  const me = person(who, accessToken)
  const stopped = await t.request('GET /orgs/organizations', me)
  expect(stopped.status).toBe(428)
  expect(stopped.body.error.code).toBe('MFA_ENROLLMENT_REQUIRED')
  expect((await t.request('GET /auth/me', me)).body.mfaEnrollmentRequired).toBe(true)
  const setup = await begin(who, accessToken)
  const confirmed = await verify({ code: await code({ totpSecret: setup.secret }) }, me)
  expect(confirmed.status).toBe(200)
  const renewed = person(who, confirmed.body.accessToken)
  expect((await t.request('GET /orgs/organizations', renewed)).status).toBe(200)
})

test('a confirmed set-up ends other logins; this one goes on with the pair of the answer', async () => {
  const who = await account()
  const [mine, other] = [await logInFully(who), await logInFully(who)]
  const setup = await begin(who, mine.accessToken)
  const enabled = await t.request('POST /auth/mfa/enable', person(who, mine.accessToken), {
    body: { code: await code({ totpSecret: setup.secret }) },
  })
  const status = async (token: string) => (await t.request('GET /auth/me', person(who, token))).status
  const refreshed = (refreshToken: string) =>
    t.request('POST /auth/refresh', null, { body: { refreshToken } })
  expect([await status(mine.accessToken), await status(other.accessToken)]).toEqual([401, 401])
  expect((await refreshed(other.refreshToken)).status).toBe(401)
  expect((await refreshed(mine.refreshToken)).status).toBe(401)
  expect(await status(enabled.body.accessToken)).toBe(200)
  const next = await refreshed(enabled.body.refreshToken)
  expect([next.status, claimsOf(next.body.accessToken)['mfa']]).toEqual([200, true])
  expect((await outbox.mailsTo(who.email)).map(({ text }) => text)).toEqual([
    'Your second factor was changed',
  ])
})

test('a code without a tempToken needs a login, and something to check it against', async () => {
  expect((await verify({ code: '123456' })).status).toBe(401)
  const who = await account()
  const { accessToken } = await logInFully(who)
  expect((await verify({ code: '123456' }, person(who, accessToken))).status).toBe(409)
})

test.each([
  ['POST /auth/mfa/verify', { code: '123456', tempToken: 'x', role: 'admin' }, 'role'],
  ['POST /auth/mfa/verify', { code: '12345' }, 'code'],
  ['POST /auth/mfa/enable', { code: '123456', mfa: true }, 'mfa'],
  ['POST /auth/mfa/setup', { secret: 'A' }, 'secret'],
] as const)('%s refuses %j, naming %s', async (path, body, field) => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const answer = await t.request(path, person(who, accessToken), { body })
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toMatchObject([{ in: 'body', field }])
})

test('the database keeps neither secret nor recovery codes readable', async () => {
  const who = await account()
  const { accessToken, refreshToken } = await logInFully(who)
  const setup = await begin(who, accessToken)
  const dump = async () =>
    JSON.stringify(
      await t.db.rows`
        select to_jsonb(u) as row from users u union all select to_jsonb(s) from mfa_setups s
        union all select to_jsonb(r) from refresh_tokens r union all select to_jsonb(c) from mfa_challenges c
        union all select to_jsonb(a) from audit_log a`,
    )
  const pending = await dump()
  await verify({ code: await code({ totpSecret: setup.secret }) }, person(who, accessToken))
  const tempToken = await challenge(who)
  for (const text of [pending, await dump()]) {
    for (const secret of [setup.secret, ...setup.recoveryCodes, refreshToken, tempToken, who.password]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('hex'))
    }
  }
})
