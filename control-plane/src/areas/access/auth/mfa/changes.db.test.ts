import { expect, test } from 'vitest'
import { type Account, accountsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'

const t = await testApp()
const { account, code, logIn, verify, logInFully, person, auditOf } = accountsOf(t)

const minutes = (n: number) => n * 60_000
const challenge = async (who: Account) => String((await logIn(who)).body.tempToken)
/** A code that was right long ago. */
const wrongCode = (who: Account) => code(who, -36_000)

const disable = async (who: Account, token: string, body: { code: string }) =>
  t.request('POST /auth/mfa/disable', person(who, token), { body })

test('the factor is taken away with a code of it, and everything that belongs to it goes', async () => {
  const who = await account({ totp: true })
  const [mine, other] = [await logInFully(who), await logInFully(who)]
  expect((await disable(who, mine.accessToken, { code: await wrongCode(who) })).status).toBe(401)
  t.clock.advance(30_000)
  const done = await disable(who, mine.accessToken, { code: await code(who) })
  expect(done.status).toBe(200)
  const me = await t.request('GET /auth/me', person(who, done.body.accessToken))
  expect(me.body.user).toMatchObject({
    mfaEnabled: false,
    mfaMethod: null,
    phoneVerified: false,
    phoneLast4: null,
  })
  expect((await t.request('GET /auth/me', person(who, other.accessToken))).status).toBe(401)
  expect((await logIn(who)).body.mfaRequired).toBe(false)
  const [row] = await t.owner`
    select totp_secret, totp_last_step, phone_number, recovery_code_hashes from svc.users where id = ${who.userId}`
  expect(row).toEqual({ totpSecret: null, totpLastStep: null, phoneNumber: null, recoveryCodeHashes: [] })
  expect(await auditOf(who.userId, 'auth.mfa.disable')).toMatchObject([
    { result: 'failure' },
    { result: 'success', partnerId: who.partnerId },
  ])
  const again = await disable(who, done.body.accessToken, { code: await code(who) })
  expect(again.status).toBe(409)
})

test('of parallel uses of one code to take the factor away, and of a used one, none more than one succeeds', async () => {
  const who = await account({ totp: true })
  const { accessToken } = await logInFully(who)
  const used = await disable(who, accessToken, { code: await code(who) })
  expect([used.status, used.body.error.code]).toEqual([401, 'MFA_CODE_INVALID'])
  t.clock.advance(30_000)
  const shown = { code: await code(who) }
  const answers = await Promise.all(Array.from({ length: 5 }, () => disable(who, accessToken, shown)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
})

test.each([
  ['its role', async () => account({ totp: true, forceMfa: true })],
  [
    'another membership’s role',
    async () => {
      const who = await account({ totp: true })
      const org = await t.make.org(await t.make.partner())
      await t.make.orgMember({
        ...org,
        userId: who.userId,
        roleId: await t.make.role(org, [], { forceMfa: true }),
      })
      return who
    },
  ],
  [
    'its partner',
    async () => {
      const who = await account({ totp: true, member: 'org' })
      await t.owner`update svc.partners set settings = '{"security":{"requireMfa":true}}' where id = ${who.partnerId}`
      return who
    },
  ],
  [
    'its organization',
    async () => {
      const who = await account({ totp: true, member: 'org' })
      await t.owner`
        update svc.organizations set settings = '{"security":{"requireMfa":true}}' where id = ${who.orgId ?? ''}`
      return who
    },
  ],
])('a factor that %s demands cannot be taken away', async (_, make) => {
  const who = await make()
  const { accessToken } = await logInFully(who)
  t.clock.advance(30_000)
  const refused = await disable(who, accessToken, { code: await code(who) })
  expect([refused.status, refused.body.error.code]).toEqual([403, 'MFA_MANDATORY'])
  expect((await logIn(who)).body.mfaRequired).toBe(true)
})

test('recovery codes are replaced with a code or a fresh factor: those before are void', async () => {
  const who = await account({ totp: true })
  const { accessToken } = await logInFully(who)
  const me = person(who, accessToken)
  const rotate = (body?: object) => t.request('POST /auth/mfa/recovery-codes', me, { ...(body && { body }) })
  const first = await rotate()
  expect(first.status).toBe(200)
  expect(first.body.recoveryCodes).toHaveLength(10)
  const login = async (recovery: string) =>
    (await verify({ tempToken: await challenge(who), code: recovery })).status
  expect(await login(who.recoveryCodes[0] ?? '')).toBe(401)
  expect(await login(first.body.recoveryCodes[0])).toBe(200)
  t.clock.advance(minutes(11))
  expect((await rotate()).body.error.code).toBe('MFA_REQUIRED')
  expect((await rotate({ code: await wrongCode(who) })).status).toBe(401)
  const second = await rotate({ code: await code(who) })
  expect(second.status).toBe(200)
  expect(await login(first.body.recoveryCodes[1])).toBe(401)
  expect(await login(second.body.recoveryCodes[1])).toBe(200)
  expect(await auditOf(who.userId, 'auth.mfa.recovery_codes.rotate')).toMatchObject([
    { result: 'success' },
    { result: 'failure' },
    { result: 'success' },
  ])
})

test('without a factor there are no recovery codes, and nothing to take away', async () => {
  const who = await account()
  const { accessToken } = await logInFully(who)
  expect((await t.request('POST /auth/mfa/recovery-codes', person(who, accessToken))).status).toBe(409)
  expect((await disable(who, accessToken, { code: '123456' })).status).toBe(409)
})
