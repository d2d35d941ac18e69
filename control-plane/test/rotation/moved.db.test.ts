import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { accountsOf } from '../harness/accounts.ts'
import { testApp } from '../harness/app.ts'
import { totpPlace } from '../../src/areas/access/auth/mfa/proof.ts'
import { unreadableMetric } from '../../src/engines/secrets/metrics.ts'

const t = await testApp()
const { account, code, logIn, logInFully, verify, auditOf, person } = accountsOf(t)
const registry = new Registry()
unreadableMetric(registry, t.core.ports.secrets)
const told: string[] = []
t.core.ports.secrets.onUnreadable = ({ message }) => told.push(message)

const secretOf = async (userId: string) => {
  const [row] = await t.owner<
    { totpSecret: Buffer }[]
  >`select totp_secret from svc.users where id = ${userId}`
  return row?.totpSecret ?? Buffer.of()
}
const setSecret = (userId: string, sealed: Buffer) =>
  t.owner`update svc.users set totp_secret = ${sealed} where id = ${userId}`

test('two users’ secrets exchanged in the database: neither logs in with a code, both with a recovery code', async () => {
  const [one, other] = [await account({ totp: true }), await account({ totp: true })]
  expect((await logInFully(one)).accessToken).toBeDefined()
  const [ofOne, ofOther] = [await secretOf(one.userId), await secretOf(other.userId)]
  await setSecret(one.userId, ofOther)
  await setSecret(other.userId, ofOne)
  for (const [who, victim] of [
    [one, other],
    [other, one],
  ] as const) {
    t.clock.advance(30_000)
    const { tempToken } = (await logIn(who)).body
    // Neither by the authenticator that is theirs, nor by that whose secret now lies with them.
    for (const holder of [who, victim]) {
      const answer = await verify({ tempToken, code: await code(holder) })
      expect([answer.status, answer.body.error.code]).toEqual([401, 'MFA_CODE_INVALID'])
    }
    expect(told).toContain(`sealed elsewhere or changed (users.totp_secret of ${who.userId})`)
    const recovered = await verify({ tempToken, code: who.recoveryCodes[0] ?? '' })
    expect(recovered.status).toBe(200)
  }
  expect(await registry.metrics()).toContain('svc_secrets_unreadable_total{place="users.totp_secret"} 4')
  // The test itself would see it: each in its own row again, all is well.
  await setSecret(one.userId, ofOne)
  expect((await logInFully(one)).accessToken).toBeDefined()
})

test('a value of another column, table or organization does not open either', async () => {
  const who = await account({ totp: true })
  const place = totpPlace(who.userId)
  const secret = t.core.ports.totp.secret()
  const { secrets } = t.core.ports
  for (const other of [{ table: 'mfa_setups' }, { column: 'recovery_codes' }, { org: who.partnerId }]) {
    await setSecret(who.userId, secrets.seal(secret, { ...place, ...other }))
    const { tempToken } = (await logIn(who)).body
    const answer = await verify({ tempToken, code: await code({ totpSecret: secret }) })
    expect(answer.status).toBe(401)
  }
  await setSecret(who.userId, secrets.seal(secret, place))
  expect((await logInFully({ ...who, totpSecret: secret })).accessToken).toBeDefined()
})

test('a set-up whose parts were exchanged is none: begin anew, and nothing is half done', async () => {
  const [one, other] = [await account(), await account()]
  const begun = []
  for (const who of [one, other]) {
    const me = person(who, (await logInFully(who)).accessToken)
    begun.push({ me, setup: (await t.request('POST /auth/mfa/setup', me)).body })
  }
  await t.owner`
    update svc.mfa_setups s set recovery_codes = o.recovery_codes from svc.mfa_setups o where s.user_id <> o.user_id`
  const [mine] = begun
  const answer = await t.request('POST /auth/mfa/enable', mine?.me, {
    body: { code: await code({ totpSecret: mine?.setup.secret }) },
  })
  expect([answer.status, answer.body.error.code]).toEqual([409, 'CONFLICT'])
  const [user] = await t.owner`select mfa_method, totp_secret from svc.users where id = ${one.userId}`
  expect(user).toMatchObject({ mfaMethod: null, totpSecret: null })
  expect(await auditOf(one.userId, 'auth.mfa.setup')).toEqual([])
  expect(told).toContain(`sealed elsewhere or changed (mfa_setups.recovery_codes of ${one.userId})`)
})
