import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { type Account, accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { outboxOf } from '../../../../../test/harness/outbox.ts'

const t = await testApp()
const { account, logIn, logInFully, verify, code, person, auditOf, nextAddress } = accountsOf(t)
const outbox = outboxOf(t)

let numbers = 0
/** No test is to run into another's limits. */
const nextNumber = () => `+4915112${String(345_678 + numbers++)}`
const minutes = (n: number) => n * 60_000

const begin = (
  who: Account,
  token: string,
  phoneNumber: string,
  currentPassword: string | undefined = who.password,
) =>
  t.request('POST /auth/phone/verify', person(who, token), {
    body: { phoneNumber, ...(currentPassword && { currentPassword }) },
  })
const confirm = (who: Account, token: string, body: { code: string; phoneNumber?: string }) =>
  t.request('POST /auth/phone/confirm', person(who, token), { body })
const send = (tempToken: string) =>
  t.request('POST /auth/mfa/sms/send', null, { body: { tempToken }, remoteAddress: nextAddress() })
const enable = (who: Account, token: string) => t.request('POST /auth/mfa/sms/enable', person(who, token))

/** A user whose factor is a text message; `token` is a fresh login's. */
async function enrolled(number = nextNumber()) {
  const who = await account()
  const { accessToken } = await logInFully(who)
  expect((await begin(who, accessToken, number)).status).toBe(200)
  expect((await confirm(who, accessToken, { code: outbox.codeFor(number) })).status).toBe(200)
  const enabled = await enable(who, accessToken)
  expect(enabled.status).toBe(200)
  return {
    who,
    number,
    token: String(enabled.body.accessToken),
    recoveryCodes: enabled.body.recoveryCodes as string[],
  }
}
const challenge = async (who: Account) => String((await logIn(who)).body.tempToken)
const other = (right: string) => String((Number(right) + 1) % 1_000_000).padStart(6, '0')

test('a number is verified by the code that was sent to it, and is no factor yet', async () => {
  const who = await account({ member: 'org' })
  const { accessToken } = await logInFully(who)
  const number = nextNumber()
  const sent = await begin(who, accessToken, number)
  expect([sent.status, sent.body]).toEqual([
    200,
    { sent: true, phoneLast4: number.slice(-4), expiresInSeconds: 600 },
  ])
  const right = outbox.codeFor(number)
  expect(right).toMatch(/^\d{6}$/)
  const before = await t.request('GET /auth/me', person(who, accessToken))
  expect(before.body.user).toMatchObject({ phoneVerified: false, phoneLast4: null })
  expect((await confirm(who, accessToken, { code: other(right) })).status).toBe(401)
  expect((await confirm(who, accessToken, { code: right, phoneNumber: nextNumber() })).status).toBe(401)
  const done = await confirm(who, accessToken, { code: right, phoneNumber: number })
  expect([done.status, done.body]).toEqual([200, { phoneVerified: true, phoneLast4: number.slice(-4) }])
  const after = await t.request('GET /auth/me', person(who, accessToken))
  expect(after.body.user).toMatchObject({
    phoneVerified: true,
    phoneLast4: number.slice(-4),
    mfaEnabled: false,
  })
  expect((await confirm(who, accessToken, { code: right })).status).toBe(401)
  expect((await logIn(who)).body.mfaRequired).toBe(false)
  expect(await auditOf(who.userId, 'auth.phone.verify.requested')).toMatchObject([
    { result: 'success', orgId: who.orgId, details: { phoneLast4: number.slice(-4) } },
  ])
  expect(await auditOf(who.userId, 'auth.phone.confirmed')).toMatchObject([{ result: 'success' }])
})

test.each([
  ['0151 12345678', 'no country'],
  ['+49151', 'too short'],
  ['+1555', 'no number'],
  ['+999123456789', 'no such country'],
  ['0049 151 12345678', 'not E.164'],
])('%s is refused: %s', async (phoneNumber) => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const refused = await begin(who, accessToken, phoneNumber)
  expect([refused.status, refused.body.error.details[0].field]).toEqual([400, 'phoneNumber'])
})

test('a number is asked for with the password, and one that is written with blanks is the same', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const number = nextNumber()
  const without = await begin(who, accessToken, number, '')
  expect([without.status, without.body.error.details[0].field]).toEqual([400, 'currentPassword'])
  expect((await begin(who, accessToken, number, 'wrong')).body.error.code).toBe('INVALID_CREDENTIALS')
  expect(outbox.codeFor(number)).toBe('')
  const spaced = `${number.slice(0, 3)} ${number.slice(3, 6)} ${number.slice(6)}`
  expect((await begin(who, accessToken, spaced)).status).toBe(200)
  expect(outbox.codeFor(number)).toMatch(/^\d{6}$/)
})

test('a code is over after ten minutes, after five tries, and when another was sent', async () => {
  const who = await account()
  const number = nextNumber()
  /** Access tokens live for a quarter of an hour only. */
  const token = async () => (await logInFully(who)).accessToken
  const sent = async () => {
    expect((await begin(who, await token(), number)).status).toBe(200)
    return outbox.codeFor(number)
  }
  const confirmed = async (shown: string) => {
    const answer = await confirm(who, await token(), { code: shown })
    return answer.body.error?.code ?? answer.status
  }
  const first = await sent()
  t.clock.advance(minutes(10))
  expect(await confirmed(first)).toBe('MFA_CODE_INVALID')
  const second = await sent()
  for (let i = 0; i < 5; i++) expect(await confirmed(other(second))).toBe('MFA_CODE_INVALID')
  expect(await confirmed(second)).toBe('MFA_CODE_INVALID')
  t.clock.advance(minutes(61))
  const third = await sent()
  const fourth = await sent()
  if (third !== fourth) expect(await confirmed(third)).toBe('MFA_CODE_INVALID')
  expect(await confirmed(fourth)).toBe(200)
})

test('another user’s code confirms nothing', async () => {
  const [mine, theirs] = [await account(), await account()]
  const [me, them] = [await logInFully(mine), await logInFully(theirs)]
  const number = nextNumber()
  await begin(theirs, them.accessToken, number)
  const right = outbox.codeFor(number)
  await begin(mine, me.accessToken, nextNumber())
  expect((await confirm(mine, me.accessToken, { code: right })).status).toBe(401)
})

test('a number gets three codes an hour and five a day, a user asks for five an hour', async () => {
  const number = nextNumber()
  const asks = async () => {
    const who = await account()
    const { accessToken } = await logInFully(who)
    return (await begin(who, accessToken, number)).status
  }
  expect([await asks(), await asks(), await asks(), await asks()]).toEqual([200, 200, 200, 429])
  t.clock.advance(minutes(61))
  expect([await asks(), await asks(), await asks()]).toEqual([200, 200, 429])
  const who = await account()
  const { accessToken } = await logInFully(who)
  for (let i = 0; i < 5; i++) expect((await begin(who, accessToken, nextNumber())).status).toBe(200)
  expect((await begin(who, accessToken, nextNumber())).status).toBe(429)
})

test('text messages become the factor: the code of this login completes it', async () => {
  const { who, number, token, recoveryCodes } = await enrolled()
  expect(recoveryCodes).toHaveLength(10)
  const me = await t.request('GET /auth/me', person(who, token))
  expect(me.body.user).toMatchObject({ mfaEnabled: true, mfaMethod: 'sms' })
  const first = await logIn(who)
  expect(first.body).toMatchObject({ mfaRequired: true, mfaMethod: 'sms' })
  const { tempToken } = first.body
  const sent = await send(tempToken)
  expect([sent.status, sent.body.phoneLast4]).toEqual([200, number.slice(-4)])
  const right = outbox.codeFor(number)
  expect((await verify({ tempToken, code: other(right) })).status).toBe(401)
  const done = await verify({ tempToken, code: right })
  expect(done.status).toBe(200)
  expect(claimsOf(done.body.accessToken)).toMatchObject({ mfa: true })
  expect((await verify({ tempToken, code: right })).status).toBe(401)
  expect(await auditOf(who.userId, 'auth.mfa.sms.sent')).toMatchObject([
    { result: 'success', partnerId: who.partnerId, details: { phoneLast4: number.slice(-4) } },
  ])
  const [recovery = ''] = recoveryCodes
  expect((await verify({ tempToken: await challenge(who), code: recovery })).status).toBe(200)
})

test('a code opens the login that it was sent for, and no other', async () => {
  const { who, number } = await enrolled()
  const [one, two] = [await challenge(who), await challenge(who)]
  await send(one)
  const first = outbox.codeFor(number)
  expect((await verify({ tempToken: two, code: first })).status).toBe(401)
  await send(two)
  const second = outbox.codeFor(number)
  if (first !== second) expect((await verify({ tempToken: one, code: second })).status).toBe(401)
  expect((await verify({ tempToken: two, code: second })).status).toBe(200)
})

test('ten parallel uses of one code: one gets in; a newer code voids it', async () => {
  const { who, number } = await enrolled()
  const tempToken = await challenge(who)
  await send(tempToken)
  const old = outbox.codeFor(number)
  await send(tempToken)
  const right = outbox.codeFor(number)
  if (old !== right) expect((await verify({ tempToken, code: old })).status).toBe(401)
  // Four tries are left.
  const answers = await Promise.all(Array.from({ length: 10 }, () => verify({ tempToken, code: right })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
})

test('a login sends three codes, a number gets five a day over however many logins', async () => {
  const { who } = await enrolled() // one is the verification's
  const tempToken = await challenge(who)
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await send(tempToken)).status)
  expect(statuses).toEqual([200, 200, 200, 429])
  const next = await challenge(who)
  expect([(await send(next)).status, (await send(next)).status]).toEqual([200, 429])
})

test('an unknown tempToken, and a login whose factor is another, get no code', async () => {
  expect((await send('svct_unknown')).body.error.code).toBe('MFA_CODE_INVALID')
  const who = await account({ totp: true })
  const refused = await send(await challenge(who))
  expect([refused.status, refused.body.error.details]).toEqual([409, [{ from: 'totp', to: 'sms' }]])
})

test('without a verified number, or with another factor in force, text messages are not enabled', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const unverified = await enable(who, accessToken)
  expect([unverified.status, unverified.body.error.details]).toEqual([
    409,
    [{ from: 'unverified', to: 'sms' }],
  ])
  const held = await account({ totp: true })
  const login = await logInFully(held)
  const refused = await enable(held, login.accessToken)
  expect([refused.status, refused.body.error.details]).toEqual([409, [{ from: 'totp', to: 'sms' }]])
})

test.each(['allowedMfaMethods', 'allowedMethods'])(
  'an organization that forbids it (%s) gets no text messages as a factor, and sends none to those who have it',
  async (key) => {
    const before = await enrolled()
    const who = await account()
    const { accessToken } = await logInFully(who)
    const number = nextNumber()
    await begin(who, accessToken, number)
    await confirm(who, accessToken, { code: outbox.codeFor(number) })
    for (const { partnerId } of [who, before.who]) {
      const settings = { security: { [key]: { totp: true, sms: false } } }
      await t.owner`update svc.partners set settings = ${t.owner.json(settings)} where id = ${partnerId}`
    }
    const refused = await enable(who, accessToken)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'SMS_MFA_FORBIDDEN'])
    const sent = await send(await challenge(before.who))
    expect([sent.status, sent.body.error.code]).toEqual([403, 'SMS_MFA_FORBIDDEN'])
  },
)

test('a role that forces MFA is not satisfied by text messages', async () => {
  const who = await account({ forceMfa: true })
  const { accessToken } = await logInFully(who)
  const number = nextNumber()
  await begin(who, accessToken, number)
  await confirm(who, accessToken, { code: outbox.codeFor(number) })
  const { accessToken: token } = (await enable(who, accessToken)).body
  expect((await t.request('GET /orgs/organizations', person(who, token))).status).toBe(428)
})

test('whoever is logged in proves a text message by a code to the number in force', async () => {
  const { who, number, token } = await enrolled()
  const me = person(who, token)
  expect((await t.request('POST /auth/mfa/recovery-codes', me)).body.error.code).toBe('MFA_REQUIRED')
  expect((await begin(who, token, number)).status).toBe(200)
  const right = outbox.codeFor(number)
  const renewed = await verify({ code: right }, me)
  expect(renewed.status).toBe(200)
  expect((await t.request('POST /auth/mfa/recovery-codes', me)).status).toBe(200)
  expect((await verify({ code: right }, me)).status).toBe(401)
})

test('another number needs the factor in force, ends other logins, and is told by mail', async () => {
  const { who, number, token } = await enrolled()
  const next = nextNumber()
  expect((await begin(who, token, next)).body.error.code).toBe('MFA_REQUIRED')
  await begin(who, token, number)
  const renewed = await verify({ code: outbox.codeFor(number) }, person(who, token))
  expect((await begin(who, renewed.body.accessToken, next)).status).toBe(200)
  const changed = await confirm(who, renewed.body.accessToken, { code: outbox.codeFor(next) })
  expect(changed.body).toMatchObject({
    phoneVerified: true,
    phoneLast4: next.slice(-4),
    accessToken: expect.any(String),
  })
  expect((await t.request('GET /auth/me', person(who, token))).status).toBe(401)
  expect((await t.request('GET /auth/me', person(who, changed.body.accessToken))).status).toBe(200)
  expect((await outbox.mailsTo(who.email)).map(({ text }) => text)).toEqual([
    'Your second factor was changed',
    'Your second factor was changed',
  ])
})

test('a check that began before a factor was in force does not get past it', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  const number = nextNumber()
  await begin(who, accessToken, number)
  const secret = t.core.ports.totp.secret()
  const { totpPlace } = await import('../mfa/proof.ts')
  await t.owner`
    update svc.users set mfa_method = 'totp', totp_secret = ${t.core.ports.secrets.seal(secret, totpPlace(who.userId))}
    where id = ${who.userId}`
  const refused = await confirm(who, accessToken, { code: outbox.codeFor(number) })
  expect(refused.body.error.code).toBe('MFA_REQUIRED')
})

test('text messages are taken away with a code to the number; an authenticator takes their place', async () => {
  const { who, number, token } = await enrolled()
  await begin(who, token, number)
  const off = await t.request('POST /auth/mfa/disable', person(who, token), {
    body: { code: outbox.codeFor(number) },
  })
  expect(off.status).toBe(200)
  expect((await logIn(who)).body.mfaRequired).toBe(false)

  const held = await enrolled()
  await begin(held.who, held.token, held.number)
  await verify({ code: outbox.codeFor(held.number) }, person(held.who, held.token))
  const setup = await t.request('POST /auth/mfa/setup', person(held.who, held.token))
  const body = { code: await code({ totpSecret: setup.body.secret }) }
  expect((await t.request('POST /auth/mfa/enable', person(held.who, held.token), { body })).status).toBe(200)
  expect((await logIn(held.who)).body.mfaMethod).toBe('totp')
})

/** A provider on loopback, and an API that is configured to use it. */
const provider = createServer((request, response) => {
  request.resume()
  response.writeHead(providerStatus).end('{"why":"no credit"}')
})
let providerStatus = 200
provider.listen(0, '127.0.0.1')
await once(provider, 'listening')
afterAll(() => {
  provider.closeAllConnections()
  provider.close()
})
const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
const paid = await testApp({
  env: { SMS_DRIVER: 'http', SMS_URL: url, SMS_TOKEN: 'tok', SMS_COUNTRIES: 'DE, AT' },
})
const none = await testApp({ env: { NODE_ENV: 'production' } })

test('a provider that does not take the message is 502, one that does is 200', async () => {
  const theirs = accountsOf(paid)
  const who = await theirs.account()
  const { accessToken } = await theirs.logInFully(who)
  const ask = (phoneNumber: string) =>
    paid.request('POST /auth/phone/verify', theirs.person(who, accessToken), {
      body: { phoneNumber, currentPassword: who.password },
    })
  expect((await ask(nextNumber())).status).toBe(200)
  providerStatus = 402
  const failed = await ask(nextNumber())
  expect([failed.status, failed.body.error.code]).toEqual([502, 'PROVIDER_ERROR'])
  expect(JSON.stringify(failed.body)).not.toContain('credit')
  const elsewhere = await ask('+447911123456')
  expect([elsewhere.status, elsewhere.body.error.details[0].field]).toEqual([400, 'phoneNumber'])
})

test('where nothing is configured it is 501, before anything is asked or stored', async () => {
  const theirs = accountsOf(none)
  const who = await theirs.account()
  const { accessToken } = await theirs.logInFully(who)
  const as = theirs.person(who, accessToken)
  const body = { phoneNumber: nextNumber(), currentPassword: who.password }
  const refused = [
    await none.request('POST /auth/phone/verify', as, { body }),
    await none.request('POST /auth/mfa/sms/enable', as),
    await none.request('POST /auth/mfa/sms/send', null, { body: { tempToken: 'x' } }),
  ]
  for (const answer of refused)
    expect([answer.status, answer.body.error.code]).toEqual([501, 'SMS_NOT_CONFIGURED'])
})
