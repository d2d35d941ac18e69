import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { egressEnv, redirectUri, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const t = await testApp({ env: egressEnv })
const idp = await startIdp(redirectUri)
const { browser, create, open, patch, setStatus } = ssoStage(t)

const auditOf = (id: string) =>
  t.db.rows<{ action: string; details: Record<string, unknown> }>`
    select action, details from audit_log where resource_id = ${id} and resource_type = 'sso_provider' order by at, id`

test('a provider is made inactive, discovered at once, and never shows its secret', async () => {
  const org = await create(idp, { allowedDomains: 'Staff.Example, bücher.example' })
  const shown = await t.request(`GET /sso/providers/${org.providerId}`, org.admin)
  expect(shown.body).toEqual({
    id: org.providerId,
    orgId: org.orgId,
    name: 'Staff',
    type: 'oidc',
    status: 'inactive',
    issuer: idp.issuer,
    clientId: idp.clientId,
    hasClientSecret: true,
    scopes: 'openid profile email',
    attributeMapping: {
      email: 'email',
      emailVerified: 'email_verified',
      name: 'name',
      firstName: 'given_name',
      lastName: 'family_name',
    },
    authorizationUrl: `${idp.issuer}/auth`,
    tokenUrl: `${idp.issuer}/token`,
    userInfoUrl: `${idp.issuer}/me`,
    jwksUrl: `${idp.issuer}/jwks`,
    discoveredAt: expect.any(String),
    redirectUri,
    loginUrl: `http://svc.test/api/v1/sso/login/${org.orgId}`,
    autoProvision: false,
    defaultRoleId: null,
    allowedDomains: 'staff.example,xn--bcher-kva.example',
    enforceSSO: false,
    trustsIdpMfa: false,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  const list = await t.request('GET /sso/providers', org.admin, { query: { orgId: org.orgId } })
  expect(list.body).toEqual({ data: [shown.body], pagination: { hasMore: false, cursor: null } })
  const [row] = await t.db.rows<{ clientSecret: Buffer }>`
    select client_secret from sso_providers where id = ${org.providerId}`
  expect(row?.clientSecret.includes(idp.clientSecret)).toBe(false)
  const place = { table: 'sso_providers', column: 'client_secret', row: org.providerId, org: org.orgId }
  expect(t.core.ports.secrets.open(row?.clientSecret ?? Buffer.of(), place).toString()).toBe(idp.clientSecret)
  expect(await auditOf(org.providerId)).toEqual([
    {
      action: 'sso.provider.create',
      details: { issuer: idp.issuer, clientId: idp.clientId, discovered: true },
    },
  ])
})

test('presets are for everybody who is logged in', async () => {
  const { body } = await t.request('GET /sso/presets', await t.people.stray())
  expect(body.presets.map(({ id }: { id: string }) => id)).toEqual(['azure-ad', 'okta', 'google', 'auth0'])
})

test.each([
  ['saml', { type: 'saml' }, 'type'],
  ['plain http', { issuer: 'http://login.example' }, 'issuer'],
  ['no address', { issuer: 'login.example' }, 'issuer'],
  ['scopes without openid', { scopes: 'profile email' }, 'scopes'],
  ['a domain that is none', { allowedDomains: 'staff.example, *' }, 'allowedDomains'],
  ['no role for new users', { autoProvision: true }, 'defaultRoleId'],
  ['no secret', { clientSecret: '' }, 'clientSecret'],
  ['a claim that nobody knows', { attributeMapping: { groups: 'groups' } }, 'attributeMapping.groups'],
])('%s is refused', async (_, more, field) => {
  await expect(create(idp, more)).rejects.toThrow(`"field":"${field}"`)
})

test('what new users are given is a role of the organization, of which the configurer holds everything', async () => {
  const org = await t.make.org()
  const [mine, partners, more] = [
    await t.make.role(org, ['devices:read']),
    await t.make.role({ partnerId: org.partnerId }, []),
    await t.make.role(org, ['devices:read', 'scripts:execute']),
  ]
  const admin = await t.people.orgMember(org, { permissions: ['organizations:write', 'devices:read'] })
  const { issuer, clientId, clientSecret } = idp
  const ask = (defaultRoleId: string) =>
    t.request('POST /sso/providers', admin, {
      body: { name: 'x', issuer, clientId, clientSecret, autoProvision: true, defaultRoleId },
    })
  expect((await ask(mine)).status).toBe(201)
  const beyond = await ask(more)
  expect([beyond.status, beyond.body.error.code]).toEqual([403, 'DELEGATION_CEILING'])
  expect((await ask(partners)).status).toBe(404)
  const whole = await t.people.partnerAdmin(org.partnerId)
  const other = await t.request('POST /sso/providers', whole, {
    body: { orgId: org.orgId, name: 'x', issuer, clientId, clientSecret, defaultRoleId: partners },
  })
  expect([other.status, other.body.error.details[0].field]).toEqual([400, 'defaultRoleId'])
})

test('nobody activates a provider that could say it is somebody who holds more than they do', async () => {
  const org = await t.make.org()
  await t.people.orgMember(org, { permissions: ['organizations:write', 'scripts:execute'] })
  const some = await t.people.orgMember(org, { permissions: ['organizations:write'] })
  const made = await create(idp, {}, org)
  const path = `/sso/providers/${made.providerId}` as const
  const refused = await t.request(`POST ${path}/status`, some, { body: { status: 'active' } })
  expect(refused.body.error).toMatchObject({
    code: 'DELEGATION_CEILING',
    details: [{ permission: 'scripts:execute' }],
  })
  expect((await t.request(`POST ${path}/status`, some, { body: { status: 'testing' } })).status).toBe(200)
  expect((await setStatus(made, 'active')).status).toBe(200)
  // An active one is not turned into another either.
  for (const body of [
    { issuer: idp.issuer },
    { clientSecret: 'x' },
    { attributeMapping: {} },
    { allowedDomains: null },
  ])
    expect((await t.request(`PATCH ${path}`, some, { body })).status).toBe(403)
  expect((await t.request(`PATCH ${path}`, some, { body: { name: 'Other' } })).status).toBe(200)
})

test('nor one that could accept an invitation to more than they hold', async () => {
  const org = await t.make.org()
  const roleId = await t.make.role(org, ['scripts:execute'])
  const admin = await t.people.partnerAdmin(org.partnerId)
  const invitation = { email: 'boss@staff.example', name: 'Boss', roleId }
  const invited = await t.request('POST /users/invite', admin, { body: invitation })
  const some = await t.people.orgMember(org, { permissions: ['organizations:write'] })
  const made = await create(idp, {}, org)
  const activate = () =>
    t.request(`POST /sso/providers/${made.providerId}/status`, some, { body: { status: 'active' } })
  expect((await activate()).body.error).toMatchObject({
    code: 'DELEGATION_CEILING',
    details: [{ permission: 'scripts:execute' }],
  })
  await t.request(`DELETE /users/${invited.body.id}`, admin)
  expect((await activate()).status).toBe(200)
})

test('it takes a fresh second factor, all of the partner, and of a key that very scope', async () => {
  const org = await create(idp)
  const path = `/sso/providers/${org.providerId}` as const
  const stale = await t.people.partnerAdmin(org.partnerId, { mfaAt: null })
  const limited = await t.people.partnerMember(org.partnerId, [org.orgId])
  for (const [who, code] of [
    [stale, 'MFA_REQUIRED'],
    [limited, 'FULL_ACCESS_REQUIRED'],
  ] as const) {
    const answer = await t.request(`PATCH ${path}`, who, { body: { name: 'x' } })
    expect([answer.status, answer.body.error.code]).toEqual([403, code])
  }
  const userId = org.admin.userId
  const [fit, unfit] = [
    await t.make.apiKey({ partnerId: org.partnerId, userId }, { scopes: ['organizations:write'] }),
    await t.make.apiKey({ partnerId: org.partnerId, userId }, { scopes: ['organizations:read'] }),
  ]
  const by = async ({ key }: { key: string }) =>
    (await t.request(`PATCH ${path}`, null, { body: { name: 'By key' }, headers: { 'x-api-key': key } }))
      .status
  expect([await by(fit), await by(unfit)]).toEqual([200, 403])
})

test('of an organization one provider at a time is active', async () => {
  const first = await open(idp)
  const second = await create(idp, {}, first)
  const refused = await setStatus(second, 'active')
  expect([refused.status, refused.body.error.details[0].activeProviderId]).toEqual([409, first.providerId])
  expect((await setStatus(first, 'inactive')).status).toBe(200)
  expect((await setStatus(second, 'active')).status).toBe(200)
  expect((await setStatus(second, 'active')).status).toBe(200)
})

test('one that cannot be discovered is kept, tested, and not activated', async () => {
  idp.tamper['/.well-known/openid-configuration'] = (body) => ({ ...body, issuer: `${idp.issuer}/` })
  const org = await create(idp)
  const test = () => t.request(`POST /sso/providers/${org.providerId}/test`, org.admin)
  expect((await test()).body).toEqual({
    success: false,
    error: { code: 'METADATA', message: 'the metadata is of another issuer than the configured one' },
    issuer: idp.issuer,
    authorizationUrl: null,
    tokenUrl: null,
    userInfoUrl: null,
    jwksUrl: null,
    algorithms: [],
  })
  const refused = await setStatus(org, 'active')
  expect([refused.status, refused.body.error]).toMatchObject([
    400,
    { code: 'SSO_PROVIDER_UNUSABLE', details: [{ reason: 'METADATA' }] },
  ])
  idp.tamper = {}
  expect((await test()).body).toMatchObject({ success: true, error: null, tokenUrl: `${idp.issuer}/token` })
  expect((await setStatus(org, 'active')).status).toBe(200)
  expect((await auditOf(org.providerId)).map(({ action }) => action)).toEqual([
    'sso.provider.create',
    'sso.provider.test',
    'sso.provider.test',
    'sso.provider.status.update',
  ])
})

test.each([
  ['an inner address', 'https://10.0.0.1'],
  ['a name that is nobody’s', 'https://nobody.invalid'],
])('%s is not asked, and says nothing of what is there', async (_, issuer) => {
  const org = await create(idp, { issuer })
  const { status, body } = await t.request(`POST /sso/providers/${org.providerId}/test`, org.admin)
  expect([status, body.success, body.error.code]).toEqual([200, false, 'UNREACHABLE'])
  expect(body.error.message).not.toMatch(/ECONN|ENOTFOUND|10\.0\.0\.1/)
})

test('another issuer ends what was linked by the one before, since its subjects are other people', async () => {
  const other = await startIdp(redirectUri)
  const org = await open(idp)
  const kim = browser('kim')
  const first = await kim.tokens(org.orgId)
  const { issuer, clientId, clientSecret } = other
  expect((await patch(org, { issuer, clientId, clientSecret })).status).toBe(200)
  const refresh = await t.request('POST /auth/refresh', null, {
    body: { refreshToken: first.body.refreshToken },
  })
  expect(refresh.status).toBe(401)
  const [updated] = (await auditOf(org.providerId)).slice(-1)
  expect(updated).toMatchObject({
    action: 'sso.provider.update',
    details: { changed: ['issuer', 'clientId', 'clientSecret'], identitiesRemoved: 1, loginsEnded: 1 },
  })
  other.accounts.set('kim', { email: 'other@staff.example', email_verified: true })
  expect((await kim.tokens(org.orgId)).body.user.email).toBe('other@staff.example')
  const broken = await patch(org, { issuer: 'https://nobody.invalid' })
  expect([broken.status, broken.body.error.code]).toEqual([400, 'SSO_PROVIDER_UNUSABLE'])
})

test('deleting a provider deletes its identities and ends the logins that came through it', async () => {
  const org = await open(idp)
  const kim = browser('kim-who-goes')
  const { body } = await kim.tokens(org.orgId)
  const me = async () =>
    (await t.request('GET /auth/me', null, { headers: { authorization: `Bearer ${body.accessToken}` } }))
      .status
  expect(await me()).toBe(200)
  expect((await t.request(`DELETE /sso/providers/${org.providerId}`, org.admin)).body).toEqual({
    success: true,
  })
  expect(await me()).toBe(401)
  const identities = await t.db.rows`select from sso_identities where provider_id = ${org.providerId}`
  expect(identities).toEqual([])
  const [row] = (await auditOf(org.providerId)).slice(-1)
  expect(row).toEqual({
    action: 'sso.provider.delete',
    details: { status: 'active', identitiesRemoved: 1, loginsEnded: 1 },
  })
  expect((await t.request(`GET /sso/providers/${org.providerId}`, org.admin)).status).toBe(404)
})

test('anybody learns of an organization what is needed to log in; one that is not there is as one without a provider', async () => {
  const org = await open(idp, { enforceSSO: true, name: 'Head office' })
  const check = (orgId: string) => t.request(`GET /sso/check/${orgId}`)
  expect((await check(org.orgId)).body).toEqual({
    ssoEnabled: true,
    provider: { name: 'Head office', type: 'oidc' },
    enforceSSO: true,
    loginUrl: `http://svc.test/api/v1/sso/login/${org.orgId}`,
  })
  const [none, testing, gone] = [await t.make.org(), await create(idp), await open(idp)]
  await setStatus(testing, 'testing')
  await t.owner`update svc.organizations set status = 'suspended' where id = ${gone.orgId}`
  for (const orgId of [none.orgId, testing.orgId, gone.orgId, crypto.randomUUID()]) {
    expect((await check(orgId)).body).toEqual({
      ssoEnabled: false,
      provider: null,
      enforceSSO: false,
      loginUrl: null,
    })
    expect(await browser('kim').logIn(orgId)).toEqual({ error: 'provider_not_found' })
    const start = await t.request(`GET /sso/login/${orgId}`)
    expect(start.headers['set-cookie']).toBeUndefined()
  }
})
