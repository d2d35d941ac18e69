import { describe, expect, test } from 'vitest'
import { type Account, accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Browser } from '../../../../../test/harness/idp/browser.ts'
import { forge } from '../../../../../test/harness/idp/forge.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { outboxOf } from '../../../../../test/harness/outbox.ts'
import { egressEnv, redirectUri, type SsoOrg, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const t = await testApp({ env: egressEnv })
const idp = await startIdp(redirectUri)
const { browser, open, patch, setStatus } = ssoStage(t)
const { account, auditOf, logIn, logInFully, verify, code } = accountsOf(t)
const outbox = outboxOf(t)
let serial = 0

const by = (accessToken: string) => ({ headers: { authorization: `Bearer ${accessToken}` } })
const ask = (what: `${string} /${string}`, token: string, body?: object) =>
  t.request(what, null, { ...by(token), ...(body && { body }) })
const refresh = (refreshToken: string) => t.request('POST /auth/refresh', null, { body: { refreshToken } })

/** A browser of somebody whom the provider knows by this address. */
function browserOf(email: string): Browser {
  const subject = `s${serial++}`
  idp.accounts.set(subject, { email, email_verified: true, name: 'Kim' })
  return browser(subject)
}
const join = (org: SsoOrg & { roleId: string }, { userId }: { userId: string }) =>
  t.make.orgMember({ ...org, userId, roleId: org.roleId })

/** An account with a password that is a member of the organization, with an address that it lists. */
async function memberOf(
  org: SsoOrg & { roleId: string },
  more: Parameters<typeof account>[0] = {},
): Promise<Account> {
  const who = await account({ member: 'none', ...more })
  await join(org, who)
  return who
}
const listing = { allowedDomains: 'example.com' }

describe('a login through an organization’s provider', () => {
  test('reaches that organization alone, whatever else its user is by now', async () => {
    const org = await open(idp, listing)
    const who = await memberOf(org)
    const kim = browserOf(who.email)
    await kim.tokens(org.orgId)
    // Then they become the partner's administrator, another organization's and the platform's.
    const elsewhere = await t.make.org()
    await t.make.orgMember({
      ...elsewhere,
      userId: who.userId,
      roleId: await t.make.role(elsewhere, ['*:*']),
    })
    const roleId = await t.make.role({ partnerId: org.partnerId }, ['*:*'])
    await t.make.partnerMember({ userId: who.userId, partnerId: org.partnerId, roleId })
    await t.owner`update svc.users set platform_admin = true where id = ${who.userId}`
    await t.core.ports.callers.changed()
    const { body } = await kim.tokens(org.orgId)
    const next = await refresh(body.refreshToken)
    for (const token of [body.accessToken, next.body.accessToken]) {
      const me = await ask('GET /auth/me', token)
      expect(me.body).toMatchObject({ permissions: ['devices:read'], platformAdmin: false })
      expect((await ask('GET /users/me', token)).body).toMatchObject({
        scope: 'organization',
        orgId: org.orgId,
      })
      expect((await ask('GET /orgs/partners', token)).status).toBe(403)
      expect((await ask('GET /users', token)).status).toBe(403)
      expect(claimsOf(token)).toMatchObject({ sso: { idp: org.providerId }, mem: { id: org.orgId } })
    }
    // By password they are all of it.
    expect((await ask('GET /orgs/partners', (await logInFully(who)).accessToken)).status).toBe(200)
  })

  test('changes nothing of an account that belongs elsewhere too, and does not log it out there', async () => {
    const org = await open(idp, listing)
    const who = await account({ member: 'org' })
    await join(org, who)
    const own = await logInFully(who)
    const { body } = await browserOf(who.email).tokens(org.orgId)
    for (const [what, sent] of [
      ['POST /auth/mfa/setup'],
      ['POST /auth/mfa/recovery-codes', {}],
      ['POST /auth/mfa/disable', { code: '000000' }],
      ['POST /auth/mfa/sms/enable'],
      ['POST /auth/phone/verify', { phoneNumber: '+4915112345678' }],
      [
        'POST /auth/change-password',
        { currentPassword: who.password, newPassword: 'turquoise walrus keeps time' },
      ],
      ['PATCH /users/me', { name: 'Mallory' }],
    ] as const) {
      const answer = await ask(what, body.accessToken, sent)
      expect([what, answer.status, answer.body.error?.code]).toEqual([what, 403, 'FORBIDDEN'])
    }
    expect((await ask('POST /auth/logout', body.accessToken)).status).toBe(204)
    expect((await ask('GET /auth/me', body.accessToken)).status).toBe(401)
    expect((await ask('GET /auth/me', own.accessToken)).status).toBe(200)
  })

  test('may change the account where it belongs to nothing else', async () => {
    const org = await open(idp)
    const { body } = await browser(`s${serial++}`).tokens(org.orgId)
    expect((await ask('PATCH /users/me', body.accessToken, { name: 'Kim' })).status).toBe(200)
    expect((await ask('POST /auth/mfa/setup', body.accessToken)).status).toBe(200)
  })

  test('does not finish what it began while the account belonged to nothing else', async () => {
    const org = await open(idp)
    const { body } = await browser(`s${serial++}`).tokens(org.orgId)
    const { secret } = (await ask('POST /auth/mfa/setup', body.accessToken)).body
    const elsewhere = await t.make.org()
    const roleId = await t.make.role(elsewhere, [])
    await t.make.orgMember({ ...elsewhere, userId: body.user.id, roleId })
    for (const [what, sent] of [
      ['POST /auth/mfa/enable', { code: await code({ totpSecret: secret }) }],
      ['POST /auth/mfa/verify', { code: await code({ totpSecret: secret }) }],
      ['POST /auth/phone/confirm', { code: '000000' }],
    ] as const) {
      const answer = await ask(what, body.accessToken, sent)
      expect([what, answer.status, answer.body.error?.code]).toEqual([what, 403, 'FORBIDDEN'])
    }
  })

  test('leaves no factor behind for whoever reads the mailbox and is invited elsewhere, and no way in by a password where there was one', async () => {
    const org = await open(idp)
    const password = 'turquoise walrus keeps time'
    const later = []
    for (const guarded of [true, false]) {
      const { body } = await browser(`s${serial++}`).tokens(org.orgId)
      const { id, email } = body.user
      if (guarded) {
        const begun = await ask('POST /auth/mfa/setup', body.accessToken)
        const codeNow = await code({ totpSecret: begun.body.secret })
        expect((await ask('POST /auth/mfa/enable', body.accessToken, { code: codeNow })).status).toBe(200)
      }
      const elsewhere = await t.make.org()
      const admin = await t.people.partnerAdmin(elsewhere.partnerId)
      const roleId = await t.make.role(elsewhere, [])
      const invited = await t.request('POST /users/invite', admin, { body: { email, name: 'Kim', roleId } })
      expect(invited.body.inviteEmailSent).toBe(true)
      const accepted = await t.request('POST /auth/accept-invite', null, {
        body: { token: await outbox.tokenFor(email), password },
      })
      expect(accepted.body).toMatchObject({ mfaRequired: false, accessToken: expect.any(String) })
      const home = claimsOf(accepted.body.accessToken)['mem']
      expect(home).toMatchObject({ id: guarded ? elsewhere.orgId : org.orgId })
      expect((await t.request(`DELETE /users/${id}`, admin)).status).toBe(204)
      const { status, body: answer } = await logIn({ email, password })
      later.push([status, answer.error?.code])
    }
    expect(later).toEqual([
      [403, 'SSO_REQUIRED'],
      [200, undefined],
    ])
  })

  test('ends with the membership, and when its provider is not active any more', async () => {
    const org = await open(idp)
    const [one, two] = [browser(`s${serial++}`), browser(`s${serial++}`)]
    const [first, second] = [await one.tokens(org.orgId), await two.tokens(org.orgId)]
    await t.request(`DELETE /users/${first.body.user.id}`, org.admin)
    expect((await ask('GET /auth/me', first.body.accessToken)).status).toBe(401)
    expect((await ask('GET /auth/me', second.body.accessToken)).status).toBe(200)
    expect((await setStatus(org, 'testing')).status).toBe(200)
    expect((await ask('GET /auth/me', second.body.accessToken)).status).toBe(401)
    expect((await refresh(second.body.refreshToken)).status).toBe(401)
  })
})

describe('a second factor', () => {
  test('of the account is asked for, and the login stays the organization’s', async () => {
    const org = await open(idp, listing)
    const who = await memberOf(org, { totp: true })
    const begun = await browserOf(who.email).tokens(org.orgId)
    expect(begun.body).toEqual({ mfaRequired: true, tempToken: expect.any(String), mfaMethod: 'totp' })
    const done = await verify({ tempToken: begun.body.tempToken, code: await code(who) })
    expect(claimsOf(done.body.accessToken)).toMatchObject({
      mfa: true,
      mem: { id: org.orgId },
      sso: { mfa: false },
    })
    const late = await browserOf(who.email).logIn(org.orgId)
    expect(late).toEqual({ error: 'sso_link_required' })
  })

  test('that waits is void once the provider is not active', async () => {
    const org = await open(idp, listing)
    const who = await memberOf(org, { totp: true })
    const begun = await browserOf(who.email).tokens(org.orgId)
    await setStatus(org, 'inactive')
    const done = await verify({ tempToken: begun.body.tempToken, code: await code(who) })
    expect([done.status, done.body.error.code]).toEqual([401, 'MFA_CODE_INVALID'])
  })

  test('of the provider counts where it is trusted for it, also for a role that forces one; else it is nothing', async () => {
    const proving = (...amr: string[]) => forge(idp, (claims) => ({ ...claims, amr }))
    proving('pwd', 'mfa')
    const settings = {
      ...listing,
      forceMfa: true,
      allowedDomains: 'staff.example',
      permissions: ['users:read'] as const,
    }
    const [trusting, plain] = [
      await open(idp, { ...settings, trustsIdpMfa: true }),
      await open(idp, settings),
    ]
    const trusted = await browser(`s${serial++}`).tokens(trusting.orgId)
    expect(claimsOf(trusted.body.accessToken)).toMatchObject({
      mfa: true,
      amr: ['sso', 'mfa'],
      sso: { mfa: true },
    })
    expect((await ask('GET /users', trusted.body.accessToken)).status).toBe(200)
    const renewed = await refresh(trusted.body.refreshToken)
    expect((await ask('GET /users', renewed.body.accessToken)).status).toBe(200)
    const not = await browser(`s${serial++}`).tokens(plain.orgId)
    expect(claimsOf(not.body.accessToken)).toMatchObject({ mfa: false })
    expect((await ask('GET /users', not.body.accessToken)).status).toBe(428)
    proving('pwd')
    const single = await browser(`s${serial++}`).tokens(trusting.orgId)
    expect((await ask('GET /users', single.body.accessToken)).status).toBe(428)
    idp.tamper = {}
    // No longer trusted: what it checked was none.
    expect((await patch(trusting, { trustsIdpMfa: false })).status).toBe(200)
    expect((await ask('GET /users', renewed.body.accessToken)).status).toBe(401)
    expect((await refresh(renewed.body.refreshToken)).status).toBe(401)
  })
})

describe('an organization that demands single sign-on', () => {
  const enforcing = { ...listing, enforceSSO: true }

  test('takes no password of its members, and says where to log in instead, to who knows the password', async () => {
    const org = await open(idp, enforcing)
    const who = await memberOf(org)
    const refused = await logIn(who)
    expect([refused.status, refused.body.error]).toMatchObject([
      403,
      {
        code: 'SSO_REQUIRED',
        details: [{ orgId: org.orgId, loginUrl: `http://svc.test/api/v1/sso/login/${org.orgId}` }],
      },
    ])
    expect((await logIn({ ...who, password: 'wrong' })).body.error.code).toBe('INVALID_CREDENTIALS')
    expect((await browserOf(who.email).tokens(org.orgId)).status).toBe(200)
  })

  test('mails no link for a password, refuses one that waits, and an invitation to it is accepted by logging in', async () => {
    const org = await open(idp, listing)
    const who = await memberOf(org)
    await t.request('POST /auth/forgot-password', null, { body: { email: who.email } })
    const token = await outbox.tokenFor(who.email)
    const email = `new${serial++}@example.com`
    const body = { email, name: 'New', roleId: org.roleId }
    expect((await t.request('POST /users/invite', org.admin, { body })).status).toBe(201)
    const invitation = await outbox.tokenFor(email)
    await patch(org, { enforceSSO: true })
    const password = 'turquoise walrus keeps time'
    const reset = await t.request('POST /auth/reset-password', null, { body: { token, password } })
    expect([reset.status, reset.body.error.code]).toEqual([400, 'LINK_INVALID'])
    const mails = (await outbox.mailsTo(who.email)).length
    await t.request('POST /auth/forgot-password', null, { body: { email: who.email } })
    expect(await outbox.mailsTo(who.email)).toHaveLength(mails)
    const accepted = await t.request('POST /auth/accept-invite', null, {
      body: { token: invitation, password },
    })
    expect([accepted.status, accepted.body.error.code]).toEqual([403, 'SSO_REQUIRED'])
    expect((await browserOf(email).tokens(org.orgId)).body.user.email).toBe(email)
  })

  test('is joined with its link and password by an account that belongs to nothing else, which then logs in by it alone', async () => {
    const org = await open(idp, enforcing)
    for (const totp of [false, true]) {
      const who = await account({ member: 'none', totp })
      const body = { email: who.email, name: 'Back', roleId: org.roleId }
      expect((await t.request('POST /users/invite', org.admin, { body })).status).toBe(201)
      const token = await outbox.tokenFor(who.email)
      const first = await t.request('POST /auth/accept-invite', null, {
        body: { token, password: who.password },
      })
      expect([first.status, first.body.mfaRequired]).toEqual([200, totp])
      const accepted = totp ? await verify({ tempToken: first.body.tempToken, code: await code(who) }) : first
      expect(accepted.body).toEqual({ mfaRequired: false, user: expect.objectContaining({ id: who.userId }) })
      expect(await auditOf(who.userId, 'user.invite.accept')).toMatchObject([
        { orgId: org.orgId, actorId: who.userId, details: { loggedIn: false } },
      ])
      expect((await logIn(who)).body.error.code).toBe('SSO_REQUIRED')
      if (!totp) expect((await browserOf(who.email).tokens(org.orgId)).body.user.id).toBe(who.userId)
    }
  })

  test('ends logins by password when it begins to, and those that wait for a second factor', async () => {
    const org = await open(idp, listing)
    const [who, waiting] = [await memberOf(org), await memberOf(org, { totp: true })]
    const before = await logInFully(who)
    const { tempToken } = (await logIn(waiting)).body
    expect((await patch(org, { enforceSSO: true })).status).toBe(200)
    expect((await ask('GET /auth/me', before.accessToken)).status).toBe(401)
    expect((await refresh(before.refreshToken)).status).toBe(401)
    const done = await verify({ tempToken, code: await code(waiting) })
    expect([done.status, done.body.error.code]).toEqual([403, 'SSO_REQUIRED'])
  })

  test('leaves what else its members are, and its partner’s users, as they were', async () => {
    const org = await open(idp, enforcing)
    const [who, partners] = [await account({ member: 'org' }), await account({ partnerId: org.partnerId })]
    await join(org, who)
    await join(org, partners)
    await t.owner`update svc.organization_memberships set created_at = now() - interval '1 year'
      where org_id = ${org.orgId}`
    const mem = claimsOf((await logInFully(who)).accessToken)['mem']
    expect(mem).toMatchObject({ id: who.orgId })
    expect(claimsOf((await logInFully(partners)).accessToken)['mem']).toMatchObject({ kind: 'partner' })
  })

  test('locks nobody out when its provider is gone: passwords count again, and a link gives one to who has none', async () => {
    const org = await open(idp, { ...enforcing, allowedDomains: 'example.com,staff.example' })
    const who = await memberOf(org)
    const { body } = await browser(`s${serial++}`).tokens(org.orgId)
    await t.request(`DELETE /sso/providers/${org.providerId}`, org.admin)
    expect((await logIn(who)).status).toBe(200)
    await t.request('POST /auth/forgot-password', null, { body: { email: body.user.email } })
    const token = await outbox.tokenFor(body.user.email)
    const password = 'turquoise walrus keeps time'
    expect((await t.request('POST /auth/reset-password', null, { body: { token, password } })).status).toBe(
      204,
    )
    const mem = claimsOf((await logInFully({ ...who, email: body.user.email, password })).accessToken)['mem']
    expect(mem).toMatchObject({ id: org.orgId })
  })
})
