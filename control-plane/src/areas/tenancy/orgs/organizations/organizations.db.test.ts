import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'

const t = await testApp()

const create = (as: Parameters<typeof t.request>[1], body: Record<string, unknown>) =>
  t.request('POST /orgs/organizations', as, { body })

test('a partner’s administrator creates an organization; it is found, listed and audited', async () => {
  const partnerId = await t.make.partner()
  const admin = await t.people.partnerAdmin(partnerId)
  const body = {
    name: ' Acmé Corp. ',
    maxDevices: 10,
    billingContact: { email: 'pay@acme.example' },
    contractStart: '2026-01-31',
  }
  expect((await create(admin, { ...body, contractStart: '0000-01-31' })).status).toBe(400)
  const made = await create(admin, body)
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.any(String),
    partnerId,
    name: 'Acmé Corp.',
    slug: 'acme-corp',
    type: 'customer',
    status: 'active',
    maxDevices: 10,
    billingContact: { email: 'pay@acme.example' },
    contractStart: '2026-01-31',
    contractEnd: null,
    settings: {},
    inheritedSettings: {},
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  expect((await t.request(`GET /orgs/organizations/${made.body.id}`, admin)).body).toEqual(made.body)
  expect((await t.request('GET /orgs/organizations', admin)).body.data).toEqual([made.body])
  const rows = await t.db
    .rows`select action, partner_id, org_id, actor_id from audit_log where resource_id = ${made.body.id}`
  expect(rows).toEqual([
    { action: 'organization.create', partnerId, orgId: made.body.id, actorId: admin.userId },
  ])
})

test('a slug is taken once per partner, also when it comes from the name or from both at the same moment', async () => {
  const [one, two] = [
    await t.people.partnerAdmin(await t.make.partner()),
    await t.people.partnerAdmin(await t.make.partner()),
  ]
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => create(one, { name: 'Same', slug: 'same' })),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(4)
  const clash = await create(one, { name: 'same' })
  expect(clash.body.error).toEqual({
    code: 'ALREADY_EXISTS',
    message: 'the slug same, made from the name same, belongs to another organization: give another slug',
    details: [{ name: 'same', slug: 'same' }],
  })
  expect((await create(one, { name: 'Other', slug: 'same' })).body.error.message).toBe(
    'the slug same belongs to another organization: give another slug',
  )
  expect((await create(two, { name: 'Same' })).status).toBe(201)
})

test('only who sees all organizations of the partner creates one', async () => {
  const org = await t.make.org()
  const few = await t.people.partnerMember(org.partnerId, [org.orgId])
  const none = await t.people.partnerMember(org.partnerId, 'none')
  const member = await t.people.orgMember(org)
  const reader = await t.people.partnerAdmin(org.partnerId, { permissions: ['organizations:read'] })
  for (const as of [few, none, member, reader]) expect((await create(as, { name: 'New' })).status).toBe(403)
  expect((await create(few, { name: 'New' })).body.error.code).toBe('FULL_ACCESS_REQUIRED')
})

test('who is limited to some sites or groups of it changes nothing of it; a partner’s user who sees it does', async () => {
  const site = await t.make.site()
  const change = (as: Parameters<typeof t.request>[1]) =>
    t.request(`PATCH /orgs/organizations/${site.orgId}`, as, {
      body: { settings: { security: { requireMfa: false } } },
    })
  for (const limits of [{ siteIds: [site.siteId] }, { deviceGroupIds: [await t.make.group(site)] }]) {
    const { status, body } = await change(await t.people.orgMember(site, limits))
    expect([status, body.error.code]).toEqual([403, 'FULL_ACCESS_REQUIRED'])
  }
  expect((await change(await t.people.orgMember(site))).status).toBe(200)
  expect((await change(await t.people.partnerMember(site.partnerId, [site.orgId]))).status).toBe(200)
})

test('another partner’s, an unlisted and an absent organization are the same 404', async () => {
  const [mine, other, foreign] = [await t.make.org(), await t.make.org(), await t.make.org()]
  const sibling = await t.make.org(mine.partnerId)
  const admin = await t.people.partnerAdmin(mine.partnerId)
  const few = await t.people.partnerMember(mine.partnerId, [mine.orgId])
  const member = await t.people.orgMember(mine)
  const answers = await Promise.all([
    t.request(`GET /orgs/organizations/${foreign.orgId}`, admin),
    t.request(`GET /orgs/organizations/${other.orgId}`, member),
    t.request(`GET /orgs/organizations/${sibling.orgId}`, few),
    t.request(`GET /orgs/organizations/${sibling.orgId}`, member),
    t.request('GET /orgs/organizations/00000000-0000-7000-8000-000000000000', admin),
  ])
  for (const { status, body } of answers) expect([status, body]).toEqual([404, answers[0]?.body])
  expect((await t.request(`GET /orgs/organizations/${sibling.orgId}`, admin)).status).toBe(200)
  const ids = async (as: typeof admin) =>
    (await t.request('GET /orgs/organizations', as)).body.data.map(({ id }: { id: string }) => id)
  expect(await ids(member)).toEqual([mine.orgId])
  expect(await ids(few)).toEqual([mine.orgId])
  expect(await ids(admin)).toEqual([sibling.orgId, mine.orgId])
})

test('the list is filtered by status and type, pages newest first, and shows nothing deleted', async () => {
  const partnerId = await t.make.partner()
  const admin = await t.people.partnerAdmin(partnerId)
  for (const [name, status, type] of [
    ['a', 'active', 'customer'],
    ['b', 'trial', 'customer'],
    ['c', 'trial', 'internal'],
  ] as const) {
    await create(admin, { name, status, type })
  }
  const gone = await t.make.org(partnerId, { name: 'gone' })
  await t.db.tx((tx) => tx.run`update organizations set deleted_at = now() where id = ${gone.orgId}`)
  const list = async (query: Record<string, string>) =>
    (await t.request('GET /orgs/organizations', admin, { query })).body
  const names = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name)
  expect(names(await list({}))).toEqual(['c', 'b', 'a'])
  expect(names(await list({ status: 'trial' }))).toEqual(['c', 'b'])
  expect(names(await list({ status: 'trial', type: 'internal' }))).toEqual(['c'])
  const first = await list({ limit: '2' })
  expect([names(first), first.pagination.hasMore]).toEqual([['c', 'b'], true])
  const second = await list({ limit: '2', cursor: first.pagination.cursor })
  expect([names(second), second.pagination.hasMore]).toEqual([['a'], false])
  expect((await t.request(`GET /orgs/organizations/${gone.orgId}`, admin)).status).toBe(404)
})

test.each([
  [{ name: 'x', partnerId: 'y' }, 'partnerId'],
  [{ name: '' }, 'name'],
  [{ name: 'x', slug: 'Not A Slug' }, 'slug'],
  [{ name: '株式会社' }, 'slug'],
  [{ name: 'x', status: 'churned' }, 'status'],
  [{ name: 'x', contractStart: '2026-02-01', contractEnd: '2026-01-01' }, 'contractEnd'],
  [{ name: 'x', contractStart: '2026-02-30' }, 'contractStart'],
  [{ name: 'x', billingContact: { card: '1' } }, 'billingContact.card'],
])('%j is refused, naming %s', async (body, field) => {
  const admin = await t.people.partnerAdmin(await t.make.partner())
  const answer = await create(admin, body)
  expect(answer.status).toBe(400)
  expect(answer.body.error.details).toMatchObject([{ in: 'body', field }])
})
