import { expect, test } from 'vitest'
import { type Account, accountsOf, claimsOf, cookiesOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { openCore } from '../../../../core.ts'

const t = await testApp()
const { account, logInFully, logIn, verify, code, person, auditOf } = accountsOf(t)

const seconds = (n: number) => n * 1_000
const days = (n: number) => n * 86_400_000

const refresh = (refreshToken: string, headers: Record<string, string> = {}) =>
  t.request('POST /auth/refresh', null, { body: { refreshToken }, headers })

/** Tokens of a user that would still be accepted, in the database's own words. */
const liveTokens = async ({ userId }: Account) => {
  const rows = await t.db.rows`
    select from refresh_tokens t join refresh_families f on f.id = t.family_id
    where f.user_id = ${userId} and f.revoked_at is null and t.used_at is null`
  return rows.length
}

const isAccepted = async (who: Account, accessToken: string) =>
  (await t.request('GET /auth/me', person(who, accessToken))).status === 200

test('a refresh gives a new pair, and the old token is dead at once', async () => {
  const who = await account()
  const first = await logInFully(who)
  const second = await refresh(first.refreshToken)
  expect(second.status).toBe(200)
  expect(second.body).toEqual({
    accessToken: expect.any(String),
    refreshToken: expect.stringMatching(/^svcr_/),
    expiresInSeconds: 900,
  })
  expect(second.body.refreshToken).not.toBe(first.refreshToken)
  expect(await isAccepted(who, second.body.accessToken)).toBe(true)
  const raced = await refresh(first.refreshToken)
  expect(raced.status).toBe(401)
  expect(raced.body.error.code).toBe('REFRESH_RACED')
  expect((await refresh(second.body.refreshToken)).status).toBe(200)
  expect(await liveTokens(who)).toBe(1)
})

test('a rotated-out token after fifteen seconds ends the login of thief and victim alike, and is audited', async () => {
  const who = await account()
  const first = await logInFully(who)
  const elsewhere = await logInFully(who)
  const second = await refresh(first.refreshToken)
  t.clock.advance(seconds(15))
  const reused = await refresh(first.refreshToken)
  expect(reused.status).toBe(401)
  expect(reused.body.error.code).toBe('REFRESH_INVALID')
  expect((await refresh(second.body.refreshToken)).status).toBe(401)
  expect(await isAccepted(who, second.body.accessToken)).toBe(false)
  expect(await auditOf(who.userId, 'auth.refresh.reuse')).toMatchObject([
    {
      result: 'denied',
      partnerId: who.partnerId,
      details: { sessionId: claimsOf(first.accessToken)['sid'] },
    },
  ])
  // Another login of the same user is another family.
  expect((await refresh(elsewhere.refreshToken)).status).toBe(200)
})

test('ten parallel refreshes: one pair, one live successor, no family revoked', async () => {
  const who = await account()
  const { refreshToken } = await logInFully(who)
  const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refreshToken)))
  const won = answers.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  expect(answers.filter(({ body }) => body.error?.code === 'REFRESH_RACED')).toHaveLength(9)
  expect(await liveTokens(who)).toBe(1)
  expect((await refresh(won[0]?.body.refreshToken)).status).toBe(200)
})

test('a repeat with the same Idempotency-Key gets the same pair for thirty seconds; another key does not', async () => {
  const who = await account()
  const { refreshToken } = await logInFully(who)
  const first = await refresh(refreshToken, { 'idempotency-key': 'try-1' })
  t.clock.advance(seconds(20))
  const again = await refresh(refreshToken, { 'idempotency-key': 'try-1' })
  expect(again.status).toBe(200)
  expect(again.body).toEqual(first.body)
  expect(await liveTokens(who)).toBe(1)
  t.clock.advance(seconds(10))
  expect((await refresh(refreshToken, { 'idempotency-key': 'try-1' })).body.error.code).toBe(
    'REFRESH_INVALID',
  )
  expect(await liveTokens(who)).toBe(0)
})

test('another Idempotency-Key is another request', async () => {
  const who = await account()
  const { refreshToken } = await logInFully(who)
  await refresh(refreshToken, { 'idempotency-key': 'try-1' })
  expect((await refresh(refreshToken, { 'idempotency-key': 'try-2' })).body.error.code).toBe('REFRESH_RACED')
})

test('ten parallel repeats of one refresh get one pair', async () => {
  const who = await account()
  const { refreshToken } = await logInFully(who)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => refresh(refreshToken, { 'idempotency-key': 'same' })),
  )
  expect(new Set(answers.map(({ body }) => body.refreshToken)).size).toBe(1)
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  expect(await liveTokens(who)).toBe(1)
})

test('a token that nobody uses is over after seven days', async () => {
  const [idle, used] = [await account(), await account()]
  const idleToken = (await logInFully(idle)).refreshToken
  let usedToken = (await logInFully(used)).refreshToken
  t.clock.advance(days(6))
  usedToken = (await refresh(usedToken)).body.refreshToken
  t.clock.advance(days(1))
  expect((await refresh(idleToken)).status).toBe(401)
  expect((await refresh(usedToken)).status).toBe(200)
})

test('of one user two hundred logins live: another one ends the oldest', async () => {
  const [who, other] = [await account(), await account()]
  const [first, theirs] = [await logInFully(who), await logInFully(other)]
  await t.owner`insert into svc.refresh_families (id, user_id, partner_id, mfa, auth_epoch, created_at, expires_at)
    select gen_random_uuid(), ${who.userId}, ${who.partnerId}, false, 1, ${t.clock.now()}::timestamptz + interval '1 second', ${t.clock.now()}::timestamptz + interval '1 day'
    from generate_series(1, 198)`
  t.clock.advance(seconds(2))
  expect((await logIn(who)).status).toBe(200)
  expect(await isAccepted(who, first.accessToken)).toBe(true)
  const last = await logInFully(who)
  expect(await isAccepted(who, last.accessToken)).toBe(true)
  expect(await isAccepted(who, first.accessToken)).toBe(false)
  expect((await refresh(first.refreshToken)).status).toBe(401)
  expect(await isAccepted(other, theirs.accessToken)).toBe(true)
  const live =
    await t.owner`select from svc.refresh_families where user_id = ${who.userId} and revoked_at is null`
  expect(live).toHaveLength(200)
})

test('a login is over after thirty days, however much it is used', async () => {
  const who = await account()
  let { refreshToken } = await logInFully(who)
  for (let day = 6; day < 30; day += 6) {
    t.clock.advance(days(6))
    const next = await refresh(refreshToken)
    expect(next.status).toBe(200)
    refreshToken = next.body.refreshToken
  }
  t.clock.advance(days(6))
  expect((await refresh(refreshToken)).status).toBe(401)
})

test('the claim mfa is copied: enrolling a factor elsewhere does not raise it, using one does not lower it', async () => {
  const [without, within] = [await account(), await account({ totp: true })]
  const plain = await logInFully(without)
  await t.db.tx((tx) => tx.run`update users set mfa_method = 'totp' where id = ${without.userId}`)
  expect(claimsOf((await refresh(plain.refreshToken)).body.accessToken)['mfa']).toBe(false)
  const strong = await logInFully(within)
  await t.db.tx(
    (tx) => tx.run`update users set mfa_method = null, totp_secret = null where id = ${within.userId}`,
  )
  expect(claimsOf((await refresh(strong.refreshToken)).body.accessToken)['mfa']).toBe(true)
})

test('a factor proved within the login stays proved when it is refreshed', async () => {
  const who = await account({ totp: true })
  await t.db.tx((tx) => tx.run`update users set mfa_method = null where id = ${who.userId}`)
  const { accessToken, refreshToken } = await logInFully(who)
  await t.db.tx((tx) => tx.run`update users set mfa_method = 'totp' where id = ${who.userId}`)
  expect((await verify({ code: await code(who) }, person(who, accessToken))).status).toBe(200)
  expect(claimsOf((await refresh(refreshToken)).body.accessToken)['mfa']).toBe(true)
})

test('the cookie is good with its proof and from a page of ours, and the answer renews both cookies', async () => {
  const { cookies } = await logInFully(await account())
  const token = cookies['svc_refresh_token']?.value
  const csrf = cookies['svc_csrf_token']?.value ?? ''
  const cookie = `svc_refresh_token=${token}; svc_csrf_token=${csrf}`
  const ours = { origin: 'http://svc.test' }
  const byCookie = (headers: Record<string, string>) =>
    t.request('POST /auth/refresh', null, { headers: { cookie, ...headers } })
  for (const headers of [
    {},
    ours,
    { 'x-svc-csrf': csrf },
    { ...ours, 'x-svc-csrf': 'guess' },
    { origin: 'http://evil.test', 'x-svc-csrf': csrf },
    { origin: 'null', 'x-svc-csrf': csrf },
    { 'sec-fetch-site': 'same-site', 'x-svc-csrf': csrf },
    { 'sec-fetch-site': 'cross-site', ...ours, 'x-svc-csrf': csrf },
  ] as Record<string, string>[]) {
    const refused = await byCookie(headers)
    expect(refused.status).toBe(403)
    expect(refused.body.error).toMatchObject({
      code: 'CSRF_INVALID',
      message:
        'send header x-svc-csrf with the value of cookie svc_csrf_token, from a page of http://svc.test',
    })
  }
  const done = await byCookie({ 'sec-fetch-site': 'same-origin', 'x-svc-csrf': csrf })
  expect(done.status).toBe(200)
  expect(cookiesOf(done)['svc_refresh_token']?.value).toBe(done.body.refreshToken)
  expect(cookiesOf(done)['svc_csrf_token']?.value).toBe(csrf)
})

test('a token in the body plants no cookie unless the page is ours, and makes the cookie irrelevant', async () => {
  const [mine, theirs] = [await logInFully(await account()), await logInFully(await account())]
  const cross = await refresh(theirs.refreshToken, { 'sec-fetch-site': 'cross-site' })
  expect(cross.status).toBe(200)
  expect(cross.headers['set-cookie']).toBeUndefined()
  const own = await refresh(cross.body.refreshToken, {
    origin: 'http://svc.test',
    cookie: `svc_refresh_token=${mine.refreshToken}`,
  })
  expect(cookiesOf(own)['svc_refresh_token']?.value).toBe(own.body.refreshToken)
  expect((await refresh(mine.refreshToken)).status).toBe(200)
})

test('without a token, or with one of another kind, there is nothing to refresh', async () => {
  const { accessToken, refreshToken } = await logInFully(await account())
  const none = await t.request('POST /auth/refresh')
  expect(none.status).toBe(401)
  expect(none.body.error.code).toBe('REFRESH_INVALID')
  expect((await refresh(accessToken)).status).toBe(400)
  expect((await refresh('svcr_made-up')).status).toBe(401)
  const bearer = { headers: { authorization: `Bearer ${refreshToken}` } }
  expect((await t.request('GET /auth/me', null, bearer)).status).toBe(401)
})

test('an unknown key in the body is refused and named', async () => {
  const answer = await t.request('POST /auth/refresh', null, { body: { refreshToken: 'x', userId: 'y' } })
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toEqual([{ in: 'body', field: 'userId', message: 'is not known' }])
})

test('disabled, removed from the tenant, or of a suspended one: the login cannot be continued', async () => {
  const [disabled, removed, suspended] = [await account(), await account({ member: 'org' }), await account()]
  const tokens = await Promise.all([disabled, removed, suspended].map(logInFully))
  await t.db.tx(async (tx) => {
    await tx.run`update users set status = 'disabled' where id = ${disabled.userId}`
    await tx.run`delete from organization_memberships where user_id = ${removed.userId}`
    await tx.run`update partners set status = 'suspended' where id = ${suspended.partnerId}`
  })
  for (const { refreshToken } of tokens)
    expect((await refresh(refreshToken)).body.error?.code).toBe('REFRESH_INVALID')
})

test('logout ends every login of the user, clears the cookies, and is audited once', async () => {
  const who = await account()
  const [here, there] = [await logInFully(who), await logInFully(who)]
  const out = await t.request('POST /auth/logout', person(who, here.accessToken))
  expect(out.status).toBe(204)
  expect(cookiesOf(out)['svc_refresh_token']).toMatchObject({
    value: '',
    attributes: expect.stringContaining('Max-Age=0'),
  })
  for (const { accessToken, refreshToken } of [here, there]) {
    expect(await isAccepted(who, accessToken)).toBe(false)
    expect((await refresh(refreshToken)).status).toBe(401)
  }
  expect(await auditOf(who.userId, 'user.logout')).toMatchObject([{ result: 'success', actorId: who.userId }])
  expect((await logIn(who)).status).toBe(200)
})

test('logout reaches other processes at once', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const other = await openCore(t.config, t.bus, { clock: t.clock })
  const identify = () =>
    other.kernel.identify({ authorization: `Bearer ${accessToken}`, apiKey: undefined, ip: '192.0.2.1' })
  try {
    expect((await identify()).actor).toMatchObject({ id: who.userId })
    await t.request('POST /auth/logout', person(who, accessToken))
    await new Promise((resolve) => setTimeout(resolve, 100))
    await expect(identify()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  } finally {
    await other.close()
  }
})

test('a second factor asked for before a logout opens nothing after it', async () => {
  const who = await account({ totp: true })
  const { accessToken } = await logInFully(who)
  const { tempToken } = (await logIn(who)).body
  await t.request('POST /auth/logout', person(who, accessToken))
  t.clock.advance(seconds(30))
  expect((await verify({ tempToken, code: await code(who) })).status).toBe(401)
})

test.each([['all'], ['none'], ['selected']] as const)(
  'a partner member with orgAccess %s logs in and out',
  async (kind) => {
    const partnerId = await t.make.partner()
    const orgs = [await t.make.org(partnerId), await t.make.org(partnerId)].map(({ orgId }) => orgId)
    const who = await account({ partnerId, access: kind === 'selected' ? orgs : kind })
    const { accessToken } = await logInFully(who)
    expect((await t.request('POST /auth/logout', person(who, accessToken))).status).toBe(204)
    expect(await auditOf(who.userId, 'user.logout')).toMatchObject([{ partnerId }])
  },
)

test('me shows the account and nothing secret', async () => {
  const who = await account({ totp: true, permissions: ['devices:read', 'sites:read'] })
  const { accessToken } = await logInFully(who)
  const me = await t.request('GET /auth/me', person(who, accessToken))
  expect(me.body).toEqual({
    user: {
      id: who.userId,
      email: who.email,
      name: expect.any(String),
      avatarUrl: null,
      status: 'active',
      mfaEnabled: true,
      mfaMethod: 'totp',
      phoneVerified: false,
      phoneLast4: null,
      lastLoginAt: expect.any(String),
      passwordChangedAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    },
    permissions: ['devices:read', 'sites:read'],
    platformAdmin: false,
    mfaEnrollmentRequired: false,
  })
})

test('me refuses who belongs to nothing any more, and answers a platform administrator of no tenant', async () => {
  const stray = await t.request('GET /auth/me', await t.people.stray())
  expect(stray.status).toBe(403)
  expect(stray.body.error.code).toBe('CONTEXT_REQUIRED')
  const admin = await t.request('GET /auth/me', await t.people.platformAdmin())
  expect(admin.body).toMatchObject({ platformAdmin: true, permissions: [] })
})
