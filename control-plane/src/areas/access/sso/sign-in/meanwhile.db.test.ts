import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { accountsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { egressEnv, redirectUri, type SsoOrg, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const t = await testApp({ env: egressEnv })
const [idp, next] = [await startIdp(redirectUri), await startIdp(redirectUri)]
const { browser, open, patch, setStatus } = ssoStage(t)
let serial = 0

const { account, code, verify } = accountsOf(t)

type Opened = SsoOrg & { roleId: string }

/** Who takes the address of a login that was under way when `change` was made: the provider was asked, and has not answered yet. */
async function during(change: (org: Opened) => Promise<unknown>) {
  const org = await open(idp)
  const kim = browser(`k${serial++}`)
  idp.tamper['/me'] = async (body) => {
    idp.tamper = {}
    await change(org)
    return body
  }
  const out = await kim.logIn(org.orgId)
  const made = await t.db.rows`select from users where email = ${`${kim.who}@staff.example`}`
  const linked = await t.db.rows`select from sso_identities where subject = ${kim.who}`
  return { out, made: made.length, linked: linked.length }
}

test('a provider that nobody touches while it is asked lets in', async () => {
  expect(await during(async () => undefined)).toMatchObject({
    out: { code: expect.any(String) },
    made: 1,
    linked: 1,
  })
})

test.each<[string, string, (org: Opened) => Promise<unknown>]>([
  ['deleted', 'provider_not_found', (org) => t.request(`DELETE /sso/providers/${org.providerId}`, org.admin)],
  ['deactivated', 'provider_not_found', (org) => setStatus(org, 'inactive')],
  [
    'suspended with its organization',
    'provider_not_found',
    (org) => t.owner`update svc.organizations set status = 'suspended' where id = ${org.orgId}`,
  ],
  ['given another secret', 'sso_config_changed', (org) => patch(org, { clientSecret: 'other' })],
  // A subject of one issuer is nobody at another.
  ['given another issuer', 'sso_config_changed', (org) => patch(org, { issuer: next.issuer })],
  ['held to other domains', 'domain_not_allowed', (org) => patch(org, { allowedDomains: 'other.example' })],
  ['told to let nobody new in', 'user_not_found', (org) => patch(org, { autoProvision: false })],
  [
    'bereft of its default role',
    'default_role_required',
    (org) => t.owner`delete from svc.roles where id = ${org.roleId}`,
  ],
])('one that was %s while it was asked ends with %s, and leaves nobody behind', async (_, error, change) => {
  expect(await during(change)).toEqual({ out: { error }, made: 0, linked: 0 })
})

/** As whoever ends the logins of a provider does: holds its row, and takes what came through it while `use` is under way. */
async function ending(org: Opened, use: () => Promise<{ status: number }>) {
  let used: ReturnType<typeof use> | undefined
  await t.owner.begin(async (tx) => {
    await tx`select from svc.sso_providers where id = ${org.providerId} for no key update`
    used = use()
    await waiting()
    await tx`select svc.end_sso_sessions(${org.providerId}, 'test', now())`
  })
  return (await used)?.status
}

/** Until somebody waits for a lock. */
const waiting = async () => {
  const blocked = () => t.db.rows`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  for (let tries = 0; tries < 100 && (await blocked()).length === 0; tries++) await sleep(10)
}

test('a code, or a second factor, that is used while its provider’s logins are ended is void, and neither waits for the other', async () => {
  const org = await open(idp, { allowedDomains: 'example.com,staff.example' })
  const kim = browser('kim')
  const came = await kim.logIn(org.orgId)
  expect(await ending(org, () => kim.ask('POST /sso/exchange', came))).toBe(400)
  const who = await account({ member: 'none', totp: true })
  await t.make.orgMember({ ...org, userId: who.userId, roleId: org.roleId })
  idp.accounts.set('lee', { email: who.email, email_verified: true })
  const { tempToken } = (await browser('lee').tokens(org.orgId)).body
  const proof = { tempToken, code: await code(who) }
  expect(await ending(org, () => verify(proof))).toBe(401)
})
