import { expect, test } from 'vitest'
import { accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'

const t = await testApp({ env: { ENABLE_2FA: 'false' } })
const { account, logIn, person } = accountsOf(t)

test('with ENABLE_2FA off nobody is asked for a second factor, and no role’s demand for one stops anybody', async () => {
  const enrolled = await account({ totp: true })
  const login = await logIn(enrolled)
  expect(login.body.mfaRequired).toBe(false)
  expect(claimsOf(login.body.accessToken)['mfa']).toBe(false)
  const forced = await account({ forceMfa: true })
  const { accessToken } = (await logIn(forced)).body
  expect((await t.request('GET /orgs/organizations', person(forced, accessToken))).status).toBe(200)
})
