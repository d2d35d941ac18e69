import { expect, test } from 'vitest'
import { type Answer, testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'

const t = await testApp()
const { make, people, request } = t
const site = await make.site()
const { partnerId, orgId } = site
const admin = await people.partnerAdmin(partnerId)
const member = await people.orgMember(site)

const create = (as: Person, body: Record<string, unknown>) => request('POST /groups', as, { body })
const codeOf = ({ status, body }: Answer) => [status, body.error.code]
const ids = ({ body }: Answer) => body.data.map(({ id }: { id: string }) => id)

test('a group is made, read, renamed and given up, and each leaves a row', async () => {
  const made = await create(member, { orgId, name: ' Servers ' })
  expect(made.status).toBe(201)
  const { id } = made.body
  const shown = { id, orgId, name: 'Servers', type: 'static', deviceCount: 0 }
  const times = { createdAt: expect.any(String), updatedAt: expect.any(String) }
  expect(made.body).toEqual({ ...shown, ...times })
  expect((await request(`GET /groups/${id}`, admin)).body).toEqual({ ...shown, ...times })
  const renamed = await request(`PATCH /groups/${id}`, admin, { body: { name: 'Databases' } })
  expect(renamed.body).toMatchObject({ ...shown, name: 'Databases' })
  expect(ids(await request('GET /groups', member, { query: { search: 'BASE' } }))).toEqual([id])
  expect((await request(`DELETE /groups/${id}`, admin)).body).toEqual({ success: true })
  for (const what of [`GET /groups/${id}`, `DELETE /groups/${id}`, `GET /groups/${id}/devices`] as const)
    expect(codeOf(await request(what, admin))).toEqual([404, 'NOT_FOUND'])
  const rows = await t.owner`
    select action, resource_name as name, details from audit_log where resource_id = ${id} order by at, id`
  expect(rows).toMatchObject([
    { action: 'device_group.create', name: 'Servers' },
    { action: 'device_group.update', name: 'Databases', details: { from: 'Servers' } },
    { action: 'device_group.delete', name: 'Databases', details: { devices: 0, memberships: 0 } },
  ])
})

test('its name is its own in the organization, whatever the case, and free again after it', async () => {
  const [one, two] = [
    await create(admin, { orgId, name: 'One' }),
    await create(admin, { orgId, name: 'Two' }),
  ]
  expect(codeOf(await create(admin, { orgId, name: 'ONE' }))).toEqual([409, 'ALREADY_EXISTS'])
  const rename = (name: string) => request(`PATCH /groups/${two.body.id}`, admin, { body: { name } })
  expect(codeOf(await rename('one'))).toEqual([409, 'ALREADY_EXISTS'])
  expect((await rename('TWO')).body.name).toBe('TWO')
  const elsewhere = await make.org(partnerId)
  expect((await create(admin, { orgId: elsewhere.orgId, name: 'One' })).status).toBe(201)
  await request(`DELETE /groups/${one.body.id}`, admin)
  expect((await create(admin, { orgId, name: 'one' })).status).toBe(201)
})

test('a group by a filter is refused in words of its own, and none is made', async () => {
  const answer = await create(admin, { orgId, name: 'Filtered', type: 'dynamic' })
  expect(codeOf(answer)).toEqual([501, 'DYNAMIC_GROUPS_UNAVAILABLE'])
  expect(await t.owner`select from device_groups where name = 'Filtered'`).toHaveLength(0)
  expect((await create(admin, { orgId, name: 'Said', type: 'static' })).status).toBe(201)
})

test.each([
  [{ name: ' ' }, 'name'],
  [{ name: 'x'.repeat(256) }, 'name'],
  [{ type: 'other' }, 'type'],
  [{ filterConditions: {} }, 'filterConditions'],
  [{ orgId: 'x' }, 'orgId'],
])('%j is refused, naming %s', async (wrong, field) => {
  const { status, body } = await create(admin, { orgId, name: 'x', ...wrong })
  expect(status).toBe(400)
  expect(body.error.details).toMatchObject([{ in: 'body', field }])
})

test.each(['siteIds', 'deviceGroupIds'] as const)(
  'a member limited by %s makes, renames and gives up none, seen or not',
  async (limit) => {
    const [mine, other] = [await make.group(site), await make.group(site)]
    const limited = await people.orgMember(site, { [limit]: [limit === 'siteIds' ? site.siteId : mine] })
    for (const id of [mine, other]) {
      for (const answer of [
        await create(limited, { orgId, name: 'x' }),
        await request(`PATCH /groups/${id}`, limited, { body: { name: 'x' } }),
        await request(`DELETE /groups/${id}`, limited),
      ])
        expect(codeOf(answer)).toEqual([403, 'FULL_ACCESS_REQUIRED'])
    }
  },
)

test('a user of the partner with selected organizations works in those', async () => {
  const selected = await people.partnerMember(partnerId, [orgId])
  const made = await create(selected, { orgId, name: 'Selected' })
  expect(made.status).toBe(201)
  const elsewhere = await make.org(partnerId)
  expect((await create(selected, { orgId: elsewhere.orgId, name: 'x' })).status).toBe(404)
  expect((await request(`DELETE /groups/${made.body.id}`, selected)).status).toBe(200)
})
