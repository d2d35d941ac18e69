import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'

const t = await testApp()

const create = (as: Parameters<typeof t.request>[1], body: Record<string, unknown>) =>
  t.request('POST /orgs/sites', as, { body })
const ids = ({ body }: { body: { data: { id: string }[] } }) => body.data.map(({ id }) => id)

test('a site is created in an organization, found, listed and audited', async () => {
  const org = await t.make.org()
  const admin = await t.people.partnerAdmin(org.partnerId)
  const body = {
    orgId: org.orgId,
    name: 'Paris',
    timezone: 'Europe/Paris',
    address: { city: 'Paris', country: 'France' },
    contact: { name: 'Ada' },
  }
  const made = await create(admin, body)
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.any(String),
    ...body,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  expect((await t.request(`GET /orgs/sites/${made.body.id}`, admin)).body).toEqual(made.body)
  expect(ids(await t.request('GET /orgs/sites', admin))).toEqual([made.body.id])
  const rows = await t.db
    .rows`select action, partner_id, org_id from audit_log where resource_id = ${made.body.id}`
  expect(rows).toEqual([{ action: 'site.create', partnerId: org.partnerId, orgId: org.orgId }])
})

test('a site of one name is made once per organization, whatever the case', async () => {
  const org = await t.make.org()
  const [admin, sibling] = [await t.people.partnerAdmin(org.partnerId), await t.make.org(org.partnerId)]
  const answers = await Promise.all(
    ['HQ', 'hq', 'Hq'].map((name) => create(admin, { orgId: org.orgId, name })),
  )
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body.error.code).toBe('ALREADY_EXISTS')
  expect((await create(admin, { orgId: sibling.orgId, name: 'HQ' })).status).toBe(201)
})

test('in a foreign, deleted or absent organization there is nothing to create a site in', async () => {
  const [mine, foreign, gone] = [await t.make.org(), await t.make.org(), await t.make.org()]
  const admin = await t.people.partnerAdmin(mine.partnerId)
  const member = await t.people.orgMember(mine)
  const sibling = await t.make.org(mine.partnerId)
  await t.db.tx((tx) => tx.run`update organizations set deleted_at = now() where id = ${gone.orgId}`)
  const owner = await t.people.partnerAdmin(gone.partnerId)
  for (const [as, orgId] of [
    [admin, foreign.orgId],
    [member, sibling.orgId],
    [owner, gone.orgId],
    [admin, '00000000-0000-7000-8000-000000000000'],
  ] as const) {
    expect((await create(as, { orgId, name: 'x' })).status).toBe(404)
  }
  const [count] = await t.db.rows<{ n: number }>`select count(*) as n from sites where name = 'x'`
  expect(count?.n).toBe(0)
})

test('a member limited to some sites sees those alone, and makes none', async () => {
  const org = await t.make.org()
  const [one, two] = [await t.make.site(org), await t.make.site(org)]
  const limited = await t.people.orgMember(org, { siteIds: [one.siteId] })
  expect(ids(await t.request('GET /orgs/sites', limited))).toEqual([one.siteId])
  expect((await t.request(`GET /orgs/sites/${one.siteId}`, limited)).status).toBe(200)
  expect((await t.request(`GET /orgs/sites/${two.siteId}`, limited)).status).toBe(404)
  const made = await create(limited, { orgId: org.orgId, name: 'three' })
  expect([made.status, made.body.error.code]).toEqual([403, 'FULL_ACCESS_REQUIRED'])
})

test('lists show one’s own tenant, and a foreign organization in the filter is empty', async () => {
  const [mine, foreign] = [await t.make.site(), await t.make.site()]
  const other = await t.make.site(await t.make.org(mine.partnerId))
  const admin = await t.people.partnerAdmin(mine.partnerId)
  const list = async (query?: Record<string, string>) =>
    ids(await t.request('GET /orgs/sites', admin, query ? { query } : {}))
  expect(await list()).toEqual([other.siteId, mine.siteId])
  expect(await list({ orgId: mine.orgId })).toEqual([mine.siteId])
  expect(await list({ orgId: foreign.orgId })).toEqual([])
  expect((await t.request(`GET /orgs/sites/${foreign.siteId}`, admin)).status).toBe(404)
})

test.each([
  [{ partnerId: 'x' }, 'partnerId'],
  [{ timezone: 'Mars/Olympus' }, 'timezone'],
  [{ timezone: '+02:00' }, 'timezone'],
  [{ address: { planet: 'Mars' } }, 'address.planet'],
  [{ contact: { email: 'no' } }, 'contact.email'],
  [{ name: ' ' }, 'name'],
])('%j is refused, naming %s', async (wrong, field) => {
  const org = await t.make.org()
  const answer = await create(await t.people.partnerAdmin(org.partnerId), {
    orgId: org.orgId,
    name: 'x',
    ...wrong,
  })
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toMatchObject([{ in: 'body', field }])
})

test('a site is changed where it is seen, and its name stays its own', async () => {
  const site = await t.make.site(undefined, { name: 'HQ' })
  const admin = await t.people.partnerAdmin(site.partnerId)
  await t.make.site(site, { name: 'Annex' })
  const change = (body: Record<string, unknown>) =>
    t.request(`PATCH /orgs/sites/${site.siteId}`, admin, { body })
  const after = await change({ timezone: 'Europe/Paris', address: { city: 'Paris' } })
  expect(after.body).toMatchObject({
    name: 'HQ',
    timezone: 'Europe/Paris',
    address: { city: 'Paris' },
    contact: null,
  })
  expect((await change({ name: 'hq', address: null })).body).toMatchObject({ name: 'hq', address: null })
  expect((await change({ name: 'ANNEX' })).body.error.code).toBe('ALREADY_EXISTS')
  expect((await change({})).status).toBe(400)
})

test.each(['siteIds', 'deviceGroupIds'] as const)(
  'a member limited by %s changes and gives up no site, seen or not',
  async (limit) => {
    const [seen, unseen] = [await t.make.site(), await t.make.site()]
    const id = limit === 'siteIds' ? seen.siteId : await t.make.group(seen)
    const limited = await t.people.orgMember(seen, { [limit]: [id] })
    for (const siteId of [seen.siteId, unseen.siteId]) {
      const change = await t.request(`PATCH /orgs/sites/${siteId}`, limited, { body: { name: 'x' } })
      const end = await t.request(`DELETE /orgs/sites/${siteId}`, limited)
      const codes = [change, end].map(({ status, body }) => [status, body.error.code])
      expect(codes).toEqual(Array.from({ length: 2 }, () => [403, 'FULL_ACCESS_REQUIRED']))
    }
  },
)

test('a site in use is not given up, and the answer counts what is in it; then its name is free and its keys are dead', async () => {
  const site = await t.make.site(undefined, { name: 'Depot' })
  const admin = await t.people.partnerAdmin(site.partnerId)
  const device = await t.make.device(site)
  const [key, spent] = [await t.make.enrollmentKey(site), await t.make.enrollmentKey(site, { maxUsage: 1 })]
  await t.db.tx((tx) => tx.run`update enrollment_keys set usage_count = 1 where id = ${spent.id}`)
  const end = () => t.request(`DELETE /orgs/sites/${site.siteId}`, admin)
  const refused = await end()
  expect([refused.status, refused.body.error.code]).toEqual([409, 'SITE_NOT_EMPTY'])
  expect(refused.body.error.details).toEqual([{ devices: 1, enrollmentKeys: 1 }])
  await t.request(`DELETE /enrollment-keys/${key.id}`, admin)
  expect((await end()).body.error.details).toEqual([{ devices: 1, enrollmentKeys: 0 }])
  await t.request(`DELETE /devices/${device.id}`, admin)
  expect((await end()).body).toEqual({ success: true })
  expect((await end()).status).toBe(404)
  expect(ids(await t.request('GET /orgs/sites', admin))).toEqual([])
  expect((await t.request(`POST /enrollment-keys/${spent.id}/rotate`, admin)).body.error.code).toBe(
    'KEY_NOT_ACTIVE',
  )
  const body = { name: 'k', orgId: site.orgId, siteId: site.siteId }
  expect((await t.request('POST /enrollment-keys', admin, { body })).status).toBe(404)
  expect((await create(admin, { orgId: site.orgId, name: 'depot' })).status).toBe(201)
})
