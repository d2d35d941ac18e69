import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'

/** What members limited to groups see while devices join and leave these. */
const t = await testApp()
const { make, people, request } = t
const site = await make.site()
const admin = await people.partnerAdmin(site.partnerId)

const join = (group: string, deviceId: string) =>
  request(`POST /groups/${group}/devices`, admin, { body: { deviceIds: [deviceId] } })
const leave = (group: string, deviceId: string) =>
  request(`DELETE /groups/${group}/devices/${deviceId}`, admin)

async function sends(as: Person, device: string) {
  return request(`POST /devices/${device}/commands`, as, { body: { type: 'list_processes' } })
}

/** All that a member is told of a device and what counts it: statuses, and numbers where it is a count. */
async function reach(as: Person, group: string, device: string, command: string) {
  const status = async (what: `${string} /${string}`) => (await request(what, as)).status
  const list = (await request('GET /devices', as, { query: { includeTotal: '' } })).body
  const page = (await request('GET /devices', as, { query: { page: '1', groupIds: group } })).body
  return {
    listed: list.devices.some(({ id }: { id: string }) => id === device),
    counts: [list.total, page.total],
    details: await Promise.all([
      status(`GET /devices/${device}`),
      status(`GET /devices/${device}/hardware`),
      status(`GET /devices/${device}/software`),
      status(`GET /devices/${device}/commands`),
      status(`GET /devices/${device}/commands/${command}`),
    ]),
    sent: (await sends(as, device)).status,
    members: (await request(`GET /groups/${group}/devices`, as)).body.data?.length,
    counted: (await request(`GET /groups/${group}`, as)).body.deviceCount,
  }
}

const nothing = { listed: false, details: [404, 404, 404, 404, 404], sent: 404 }
const everything = { listed: true, details: [200, 200, 200, 200, 200], sent: 201 }

test('a device that joins or leaves a group comes into reach and goes out of it at once, for a key too', async () => {
  const group = await make.group(site)
  const device = (await make.device(site)).id
  const limited = await people.orgMember(site, { deviceGroupIds: [group] })
  const command = (await sends(admin, device)).body.id as string
  const empty = { counts: [0, 0], members: 0, counted: 0 }
  const one = { counts: [1, 1], members: 1, counted: 1 }
  const key = (await request('POST /api-keys', limited, { body: { name: 'k', scopes: ['devices:read'] } }))
    .body
  const byKey = async () =>
    (await request(`GET /devices/${device}`, null, { headers: { 'x-api-key': key.key } })).status
  expect([await reach(limited, group, device, command), await byKey()]).toEqual([
    { ...nothing, ...empty },
    404,
  ])
  await join(group, device)
  expect([await reach(limited, group, device, command), await byKey()]).toEqual([
    { ...everything, ...one },
    200,
  ])
  await leave(group, device)
  expect([await reach(limited, group, device, command), await byKey()]).toEqual([
    { ...nothing, ...empty },
    404,
  ])
})

test('who waits for a command is told 404 when its device leaves the group, not when the wait is over', async () => {
  const device = (await make.device(site)).id
  const group = await make.group(site, [device])
  const limited = await people.orgMember(site, { deviceGroupIds: [group] })
  const { id } = (await sends(limited, device)).body
  const started = performance.now()
  const waiting = request(`GET /devices/${device}/commands/${id}`, limited, { query: { waitMs: '20000' } })
  await sleep(100)
  await leave(group, device)
  expect((await waiting).status).toBe(404)
  expect(performance.now() - started).toBeLessThan(15_000)
})

test('whose last group is given up sees nothing, and never everything', async () => {
  const device = (await make.device(site)).id
  const group = await make.group(site, [device])
  const limited = await people.orgMember(site, { deviceGroupIds: [group] })
  const command = (await sends(limited, device)).body.id as string
  expect(await reach(limited, group, device, command)).toMatchObject(everything)
  expect((await request(`DELETE /groups/${group}`, admin)).status).toBe(200)
  const none = { ...nothing, counts: [0, 0], members: undefined, counted: undefined }
  expect(await reach(limited, group, device, command)).toEqual(none)
  expect((await request('GET /groups', limited)).body.data).toEqual([])
  const [row] = await t.owner`
    select device_group_ids as ids from organization_memberships where user_id = ${limited.userId}`
  expect(row?.['ids']).toEqual([group])
  const [audit] = await t.owner`
    select details from audit_log where resource_id = ${group} and action = 'device_group.delete'`
  expect(audit?.['details']).toEqual({ devices: 1, memberships: 1 })
  // It does not become a membership without limits for those who manage users either.
  const refused = await request(`POST /groups/${group}/devices`, limited, { body: { deviceIds: [device] } })
  expect([refused.status, refused.body.error.code]).toEqual([403, 'FULL_ACCESS_REQUIRED'])
})

test('a group that one is not limited to is not told of: in a filter, in a device’s details, by its id', async () => {
  const device = (await make.device(site)).id
  const [mine, other] = [await make.group(site, [device]), await make.group(site, [device])]
  const limited = await people.orgMember(site, { deviceGroupIds: [mine] })
  const filtered = async (groupIds: string) =>
    (await request('GET /devices', limited, { query: { groupIds, includeTotal: '' } })).body.total
  expect([await filtered(mine), await filtered(other)]).toEqual([1, 0])
  const { groups } = (await request(`GET /devices/${device}`, limited)).body
  expect(groups).toMatchObject([{ groupId: mine }])
  expect((await request(`GET /groups/${other}`, limited)).status).toBe(404)
  expect((await request('GET /groups', limited)).body.data).toMatchObject([{ id: mine, deviceCount: 1 }])
})
