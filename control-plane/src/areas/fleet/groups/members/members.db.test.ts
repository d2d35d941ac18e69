import { expect, test } from 'vitest'
import { type Answer, testApp } from '../../../../../test/harness/app.ts'

const t = await testApp()
const { make, people, request } = t
const site = await make.site()
const admin = await people.partnerAdmin(site.partnerId)

type Row = Record<string, unknown>
const add = (group: string, deviceIds: readonly string[]) =>
  request(`POST /groups/${group}/devices`, admin, { body: { deviceIds } })
const remove = (group: string, device: string) => request(`DELETE /groups/${group}/devices/${device}`, admin)
const read = async (path: string, query?: Record<string, string>): Promise<Row[]> =>
  (await request(`GET /groups/${path}`, admin, query ? { query } : {})).body.data
const devices = async (count: number) => {
  const made = await Promise.all(Array.from({ length: count }, () => make.device(site)))
  return made.map(({ id }) => id).toSorted()
}

test('each device of the request is told what became of it; asked again nothing changes', async () => {
  const group = await make.group(site)
  const [a = '', b = ''] = await devices(2)
  const sibling = await make.device(await make.site(await make.org(site.partnerId)))
  const foreign = await make.device()
  const wrong = [sibling.id, foreign.id, crypto.randomUUID()]
  const failed = wrong.map((deviceId) => ({ deviceId, code: 'NOT_FOUND' }))
  expect((await add(group, [a])).body).toEqual({ added: [a], skipped: [], failed: [], deviceCount: 1 })
  const answer = await add(group, [b.toUpperCase(), a, ...wrong, b])
  expect(answer).toMatchObject({
    status: 200,
    body: { added: [b], skipped: [a], failed, deviceCount: 2 },
  })
  expect((await add(group, [a, b])).body).toEqual({ added: [], skipped: [a, b], failed: [], deviceCount: 2 })
  const members =
    await t.owner`select device_id::text as id from device_group_members where group_id = ${group}`
  expect(members.map(({ id }) => String(id)).toSorted()).toEqual([a, b])
  const rows = await t.owner`
    select details from audit_log where resource_id = ${group} and action = 'device_group.devices.add' order by at, id`
  expect(rows.map(({ details }) => details)).toEqual([
    { added: 1, skipped: 0, failed: 0 },
    { added: 1, skipped: 1, failed: 3 },
    { added: 0, skipped: 2, failed: 0 },
  ])
})

test('a request names one device to a thousand', async () => {
  const group = await make.group(site)
  const many = (count: number) => Array.from({ length: count }, () => crypto.randomUUID())
  expect((await add(group, [])).status).toBe(400)
  expect((await add(group, many(1_001))).status).toBe(400)
  expect((await add(group, many(1_000))).body.failed).toHaveLength(1_000)
})

test('who joined last comes first; who left is gone, and leaving twice is 404', async () => {
  const [a = '', b = ''] = await devices(2)
  const group = await make.group(site)
  await add(group, [a])
  await add(group, [b])
  expect(await read(`${group}/devices`)).toMatchObject([
    { id: b, siteId: site.siteId, status: 'offline', addedAt: expect.any(String) },
    { id: a },
  ])
  const removed = [await remove(group, a), await remove(group, a), await remove(group, crypto.randomUUID())]
  expect(removed.map(({ status }) => status)).toEqual([200, 404, 404])
  expect(await read(`${group}/devices`)).toMatchObject([{ id: b }])
  expect((await request(`GET /groups/${group}`, admin)).body.deviceCount).toBe(1)
  expect(await t.owner`select from devices where id = ${a}`).toHaveLength(1)
})

test('the log tells of each change once, newest first, and of none that was none', async () => {
  const [a = '', b = ''] = await devices(2)
  const group = await make.group(site)
  await add(group, [a])
  await add(group, [a, b])
  await remove(group, a)
  await remove(group, a)
  const log = await read(`${group}/membership-log`)
  expect(log).toMatchObject([
    { groupId: group, deviceId: a, action: 'removed', reason: 'manual', hostname: expect.any(String) },
    { deviceId: b, action: 'added' },
    { deviceId: a, action: 'added' },
  ])
  expect(await read(`${group}/membership-log`, { action: 'removed' })).toEqual(log.slice(0, 1))
  expect(await read(`${group}/membership-log`, { deviceId: b })).toEqual(log.slice(1, 2))
  const first = await request(`GET /groups/${group}/membership-log`, admin, { query: { limit: '2' } })
  const { cursor } = first.body.pagination
  expect(await read(`${group}/membership-log`, { limit: '2', cursor })).toEqual(log.slice(2))
})

test('decommissioned devices stay in the group, and are neither counted nor shown unless asked for', async () => {
  const [a = '', b = ''] = await devices(2)
  const group = await make.group(site, [a, b])
  expect((await request(`DELETE /devices/${a}`, admin)).status).toBe(200)
  expect((await request(`GET /groups/${group}`, admin)).body.deviceCount).toBe(1)
  expect(await read(`${group}/devices`)).toMatchObject([{ id: b }])
  expect(await read(`${group}/devices`, { includeDecommissioned: '' })).toHaveLength(2)
})

test('many who add the same devices at once add each of them once, and none waits for the other for ever', async () => {
  const ids = await devices(20)
  const group = await make.group(site)
  const orders = [ids, ids.toReversed(), ids.slice(7), ids.toReversed().slice(3)]
  const answers = await Promise.all(orders.map((order) => add(group, order)))
  expect(answers.map(({ status }) => status)).toEqual(orders.map(() => 200))
  expect(answers.flatMap(({ body }) => body.added as string[]).toSorted()).toEqual(ids)
  const log = await t.owner`select device_id::text as id from device_group_log where group_id = ${group}`
  expect(log.map(({ id }) => String(id)).toSorted()).toEqual(ids)
})

test('a group that is given up while devices join it leaves no member behind', async () => {
  const ids = await devices(3)
  const outcome = ({ status }: Answer) => status
  for (let round = 0; round < 8; round++) {
    const group = await make.group(site)
    const gone = request(`DELETE /groups/${group}`, admin)
    const [joined, ended] = await Promise.all([add(group, ids), gone])
    expect([200, 404]).toContain(outcome(joined))
    expect(outcome(ended)).toBe(200)
    for (const rows of [
      await t.owner`select from device_group_members where group_id = ${group}`,
      await t.owner`select from device_group_log where group_id = ${group}`,
    ])
      expect(rows).toHaveLength(0)
  }
})
