import { expect, test } from 'vitest'
import { accountsOf, claimsOf, cookiesOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { linkTokenOf } from '../../../../../test/harness/mails.ts'

const t = await testApp()
const { logIn, nextAddress } = accountsOf(t)
let count = 0
const password = 'seven green bottles hanging'

/** Somebody who was invited into an organization, and the token of their link. */
async function invited() {
  const org = await t.make.org()
  const admin = await t.people.orgMember(org)
  const email = `invited.${++count}@example.com`
  const body = { email, name: 'Kim', roleId: await t.make.role(org, ['devices:read']) }
  const { id } = (await t.request('POST /users/invite', admin, { body })).body
  return { ...org, admin, id, email, token: await linkTokenOf(t, email) }
}

const ask = (path: 'preview' | 'accept', body: Record<string, unknown>) =>
  t.request(path === 'preview' ? 'POST /auth/invite/preview' : 'POST /auth/accept-invite', null, {
    body,
    remoteAddress: nextAddress(),
  })
const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
  status,
  body.error?.code,
]

test('the link tells whose it is, and accepting it logs in as a login does', async () => {
  const { id, email, token, orgId, partnerId } = await invited()
  const [org] = await t.db.rows<{ name: string }>`select name from organizations where id = ${orgId}`
  for (let times = 0; times < 2; times++) {
    const preview = await ask('preview', { token })
    expect([preview.status, preview.body]).toEqual([
      200,
      { email, name: 'Kim', tenantName: org?.name, accountKnown: false },
    ])
  }
  const answer = await ask('accept', { token, password })
  expect(answer.body).toMatchObject({ mfaRequired: false, user: { id, email, name: 'Kim' } })
  expect(Object.keys(cookiesOf(answer))).toEqual(['svc_refresh_token', 'svc_csrf_token'])
  expect(claimsOf(answer.body.accessToken)).toMatchObject({ sub: id, mfa: false })
  const me = await t.request('GET /users/me', {
    userId: id,
    email,
    sessionId: '',
    token: async () => answer.body.accessToken,
  })
  expect(me.body).toMatchObject({ id, status: 'active', orgId, permissions: ['devices:read'] })
  const audit = await t.db.rows`
    select action, actor_id, partner_id, org_id from audit_log where resource_id = ${id} order by at, id`
  expect(audit.at(-1)).toEqual({ action: 'user.invite.accept', actorId: id, partnerId, orgId })
  expect((await logIn({ email, password })).status).toBe(200)
})

test('the link is good once, whoever is first of many, and not after a newer one, a week, or disabling', async () => {
  const used = await invited()
  const answers = await Promise.all([1, 2, 3, 4].map(() => ask('accept', { token: used.token, password })))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400])
  const replaced = await invited()
  await t.request('POST /users/resend-invite', replaced.admin, { body: { userId: replaced.id } })
  const disabled = await invited()
  await t.request(`PATCH /users/${disabled.id}`, disabled.admin, { body: { status: 'disabled' } })
  const suspended = await invited()
  await t.db.tx((tx) => tx.run`update partners set status = 'suspended' where id = ${suspended.partnerId}`)
  const removed = await invited()
  await t.request(`DELETE /users/${removed.id}`, removed.admin)
  for (const { token } of [used, replaced, disabled, suspended, removed, { token: 'svcl_nothing' }]) {
    for (const path of ['preview', 'accept'] as const) {
      const body = path === 'accept' ? { token, password } : { token }
      expect(codeOf(await ask(path, body))).toEqual([400, 'LINK_INVALID'])
    }
  }
  const late = await invited()
  t.clock.advance(7 * 86_400_000)
  expect(codeOf(await ask('accept', { token: late.token, password }))).toEqual([400, 'LINK_INVALID'])
})

test('a password that would be guessed is refused, and the link stays good', async () => {
  const { token, email, orgId } = await invited()
  for (const weak of ['short', 'password1', email, `Kim ${email}`, 'x'.repeat(257)]) {
    expect(codeOf(await ask('accept', { token, password: weak }))).toEqual([400, 'WEAK_PASSWORD'])
  }
  await t.owner`update svc.organizations set settings = '{"security": {"minLength": 40}}' where id = ${orgId}`
  const refused = await ask('accept', { token, password })
  expect(refused.body.error.details).toMatchObject([{ reason: 'too_short', minLength: 40 }])
  expect((await logIn({ email, password })).status).toBe(401)
  expect((await ask('accept', { token, password: `${password}, and if one should fall` })).status).toBe(200)
})
