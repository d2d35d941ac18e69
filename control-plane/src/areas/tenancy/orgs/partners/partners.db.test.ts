import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'

const t = await testApp()
const { make, people } = t
const platform = await people.platformAdmin()

const create = (body: Record<string, unknown>) => t.request('POST /orgs/partners', platform, { body })
const organization = (as: Person, body: Record<string, unknown>) =>
  t.request('POST /orgs/organizations', as, { body })
const change = (as: Person, orgId: string, body: Record<string, unknown>) =>
  t.request(`PATCH /orgs/organizations/${orgId}`, as, { body })

test('the platform’s administrator makes a partner with its roles, finds, lists and changes it', async () => {
  const made = await create({
    name: 'Northwind',
    maxDevices: 9,
    settings: { language: 'en', timezone: null },
  })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.any(String),
    name: 'Northwind',
    slug: 'northwind',
    status: 'active',
    maxOrganizations: null,
    maxDevices: 9,
    settings: { language: 'en' },
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  const { id } = made.body
  expect((await t.request(`GET /orgs/partners/${id}`, platform)).body).toEqual(made.body)
  expect((await t.request('GET /orgs/partners', platform)).body.data).toContainEqual(made.body)
  const roles = await t.db.rows<{
    name: string
  }>`select name from roles where partner_id = ${id} and is_system`
  expect(roles.map(({ name }) => name)).toContain('Partner Admin')
  const changed = await t.request(`PATCH /orgs/partners/${id}`, platform, {
    body: { slug: 'nw', maxOrganizations: 3, settings: { language: null, timeFormat: '24h' } },
  })
  expect(changed.body).toMatchObject({ name: 'Northwind', slug: 'nw', maxOrganizations: 3, maxDevices: 9 })
  expect(changed.body.settings).toEqual({ timeFormat: '24h' })
  const audit = await t.db
    .rows`select action, partner_id from audit_log where resource_id = ${id} order by at, id`
  expect(audit).toEqual([
    { action: 'partner.create', partnerId: null },
    { action: 'partner.update', partnerId: null },
  ])
})

test('a slug is one partner’s, at creation and later', async () => {
  const [one, two] = [await create({ name: 'First Slug' }), await create({ name: 'Second Slug' })]
  expect((await create({ name: 'First slug!' })).body.error).toMatchObject({ code: 'ALREADY_EXISTS' })
  const clash = await t.request(`PATCH /orgs/partners/${two.body.id}`, platform, {
    body: { slug: one.body.slug },
  })
  expect([clash.status, clash.body.error.code]).toEqual([409, 'ALREADY_EXISTS'])
})

test('a partner’s users see their partner; members of an organization have none', async () => {
  const org = await make.org()
  const { partnerId } = org
  for (const person of [
    await people.partnerAdmin(partnerId),
    await people.partnerMember(partnerId, 'none', { permissions: [] }),
    await people.partnerMember(partnerId, [org.orgId]),
  ]) {
    expect((await t.request('GET /orgs/partners/me', person)).body).toMatchObject({ id: partnerId })
  }
  expect((await t.request('GET /orgs/partners/me', await people.orgMember(org))).status).toBe(404)
  const few = await people.partnerMember(partnerId, [org.orgId])
  const refused = await t.request('PATCH /orgs/partners/me', few, { body: { name: 'Mine' } })
  expect(refused.body.error.code).toBe('FULL_ACCESS_REQUIRED')
  const renamed = await t.request('PATCH /orgs/partners/me', await people.partnerAdmin(partnerId), {
    body: { name: 'Ours' },
  })
  expect(renamed.body.name).toBe('Ours')
})

test.each([
  [{ status: 'suspended' }, 'status'],
  [{ maxDevices: 5 }, 'maxDevices'],
  [{ settings: { theme: 'dark' } }, 'settings.theme'],
  [{ settings: { security: { complexity: 'strict' } } }, 'settings.security.complexity'],
  [{ settings: { security: { minLength: 7 } } }, 'settings.security.minLength'],
  [{ settings: { security: { requireMfa: 'yes' } } }, 'settings.security.requireMfa'],
  [{ settings: { timezone: 'Mars/Olympus' } }, 'settings.timezone'],
  [{ settings: { branding: { logoUrl: 'http://logos.example/a.png' } } }, 'settings.branding.logoUrl'],
  [{ settings: { branding: { primaryColor: 'red' } } }, 'settings.branding.primaryColor'],
  [{}, 'body'],
])('of itself a partner cannot say %j: %s is named', async (body, field) => {
  const admin = await people.partnerAdmin(await make.partner())
  const answer = await t.request('PATCH /orgs/partners/me', admin, { body })
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toMatchObject([{ in: 'body', field }])
})

test('what a partner sets is shown in its organizations and locked there', async () => {
  const org = await make.org()
  const admin = await people.partnerAdmin(org.partnerId)
  const member = await people.orgMember(org)
  const own = { security: { requireMfa: true, minLength: 12 }, contact: { name: 'Ada' } }
  expect((await change(member, org.orgId, { settings: own })).body).toMatchObject({
    settings: own,
    inheritedSettings: {},
  })
  const settings = {
    security: { requireMfa: false },
    contact: { name: 'Bob' },
    defaults: { defaultEnrollmentDeviceCount: 2 },
  }
  expect((await t.request('PATCH /orgs/partners/me', admin, { body: { settings } })).status).toBe(200)
  const { contact: _, ...down } = settings
  for (const answer of [
    await t.request(`GET /orgs/organizations/${org.orgId}`, member),
    { body: (await t.request('GET /orgs/', member)).body.data[0] },
  ]) {
    expect(answer.body).toMatchObject({ settings: own, inheritedSettings: down })
    expect(answer.body.inheritedSettings).toEqual(down)
  }
  const locked = await change(member, org.orgId, {
    settings: { security: { requireMfa: true, minLength: 14 } },
  })
  expect([locked.status, locked.body.error.code]).toEqual([403, 'SETTING_LOCKED'])
  expect(locked.body.error.details).toEqual([{ fields: ['security.requireMfa'] }])
  const free = await change(member, org.orgId, {
    settings: {
      security: { minLength: 14 },
      contact: { name: null },
      defaults: { defaultEnrollmentDeviceCount: 7 },
    },
  })
  expect(free.body.settings).toEqual({
    security: { requireMfa: true, minLength: 14 },
    defaults: { defaultEnrollmentDeviceCount: 7 },
  })
  const audit = await t.db
    .rows`select from audit_log where resource_id = ${org.orgId} and action = 'organization.update'`
  expect(audit).toHaveLength(2)
})

test('enrollment keys begin and end as the settings say', async () => {
  const site = await make.site()
  const admin = await people.partnerAdmin(site.partnerId)
  const minutes = (body: { expiresAt: string }) =>
    Math.round((new Date(body.expiresAt).getTime() - Date.now()) / 60_000)
  const defaults = {
    defaultEnrollmentTtlMinutes: 90,
    defaultEnrollmentDeviceCount: 3,
    maxEnrollmentLinkTtlMinutes: 120,
  }
  await t.request('PATCH /orgs/partners/me', admin, { body: { settings: { defaults } } })
  const key = (more: Record<string, unknown> = {}) =>
    t.request('POST /enrollment-keys', admin, {
      body: { name: 'k', orgId: site.orgId, siteId: site.siteId, ...more },
    })
  const usual = (await key()).body
  expect([usual.maxUsage, minutes(usual)]).toEqual([3, 90])
  expect((await key({ maxUsage: null })).body.maxUsage).toBe(null)
  const long = await key({ expiresAt: new Date(Date.now() + 121 * 60_000).toISOString() })
  expect(long.body.error.details).toMatchObject([
    { field: 'expiresAt', message: 'must be in the future and at most 120 minutes away' },
  ])
  await change(admin, site.orgId, { settings: { defaults: { defaultEnrollmentTtlMinutes: 30 } } })
  expect(minutes((await key()).body)).toBe(30)
  expect((await key()).body.maxUsage).toBe(3)
})

test('what the partner decides on, a member of the organization cannot change', async () => {
  const org = await make.org()
  const member = await people.orgMember(org)
  const own = await change(member, org.orgId, { name: 'Renamed', billingContact: { name: 'Pay' } })
  expect(own.body).toMatchObject({ name: 'Renamed', billingContact: { name: 'Pay' } })
  for (const body of [
    { maxDevices: null },
    { status: 'active' },
    { slug: 'x' },
    { type: 'internal' },
    { contractEnd: null },
  ]) {
    const answer = await change(member, org.orgId, { name: 'Again', ...body })
    expect([answer.status, answer.body.error.code]).toEqual([403, 'FORBIDDEN'])
    expect(answer.body.error.details).toEqual([{ field: Object.keys(body)[0] }])
  }
  const few = await people.partnerMember(org.partnerId, [org.orgId])
  const all = {
    slug: 'other',
    type: 'internal',
    maxDevices: 4,
    contractStart: '2026-01-01',
    contractEnd: '2026-12-31',
  }
  expect((await change(few, org.orgId, all)).body).toMatchObject({ ...all, name: 'Renamed' })
  const wrong = await change(few, org.orgId, { contractStart: '2027-01-01' })
  expect(wrong.body.error.details).toMatchObject([{ field: 'contractEnd' }])
  const sibling = await make.org(org.partnerId)
  const clash = await change(await people.partnerAdmin(org.partnerId), sibling.orgId, { slug: 'other' })
  expect([clash.status, clash.body.error.code]).toEqual([409, 'ALREADY_EXISTS'])
})

test('a partner has no more organizations than it may, however many are made at once; a deleted one leaves its place', async () => {
  const { id: partnerId } = (await create({ name: 'Small', maxOrganizations: 2 })).body
  const admin = await people.partnerAdmin(partnerId)
  const answers = await Promise.all([1, 2, 3, 4].map((n) => organization(admin, { name: `Org ${n}` })))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
  const refused = answers.filter(({ status }) => status === 403)
  expect(refused).toHaveLength(2)
  expect(refused[0]?.body.error).toMatchObject({
    code: 'ORGANIZATION_LIMIT_REACHED',
    details: [{ currentOrganizations: 2, maxOrganizations: 2 }],
  })
  const made = answers.find(({ status }) => status === 201)
  await t.request(`DELETE /orgs/organizations/${made?.body.id}`, admin)
  expect((await organization(admin, { name: 'Another', slug: made?.body.slug })).status).toBe(201)
})

test('a partner has no more devices than it may, whatever organization they enrol into', async () => {
  const { id: partnerId } = (await create({ name: 'Few devices', maxDevices: 3 })).body
  const keys = await Promise.all(
    [1, 2].map(async () => make.enrollmentKey(await make.site(await make.org(partnerId)))),
  )
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      t.request('POST /agents/enroll', null, {
        body: {
          enrollmentKey: keys[n % 2]?.key,
          hostname: `h${n}`,
          osType: 'linux',
          architecture: 'x64',
          agentVersion: '1.0.0',
        },
      }),
    ),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
  const [refused] = answers.filter(({ status }) => status === 403)
  expect(refused?.body.error).toMatchObject({
    code: 'DEVICE_LIMIT_REACHED',
    message: 'the partner has 3 of 3 devices',
    details: [{ currentDevices: 3, maxDevices: 3 }],
  })
})

test('`/orgs/` is the list of organizations, with the slash and without', async () => {
  const org = await make.org()
  const admin = await people.partnerAdmin(org.partnerId)
  const wanted = (await t.request('GET /orgs/organizations', admin)).body
  for (const path of ['GET /orgs/', 'GET /orgs'] as const)
    expect((await t.request(path, admin)).body).toEqual(wanted)
  const other = await t.request('POST /orgs' as 'GET /orgs', admin)
  expect([other.status, other.headers['allow']]).toEqual([405, 'GET, HEAD'])
})
