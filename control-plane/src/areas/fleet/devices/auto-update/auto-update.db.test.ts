import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { edgeMessages, eventually, framesIn } from '../../../../../test/harness/pipeline.ts'

const t = await testApp()
const site = await t.make.site()
const admin = await t.people.partnerAdmin(site.partnerId)
const edge = await edgeMessages(t.bus, 'n1')

const set = (id: string, enabled: unknown, as = admin) =>
  t.request(`POST /devices/${id}/auto-update`, as, { body: { enabled } })
const shown = async (id: string) => (await t.request(`GET /devices/${id}`, admin)).body.autoUpdateEnabled

test('self-update is switched off and on again, each a new version of the configuration', async () => {
  const { id } = await t.make.device(site)
  expect((await set(id, false)).body).toEqual({ success: true, enabled: false, configVersion: 2 })
  expect(await shown(id)).toBe(false)
  expect((await set(id, true)).body).toEqual({ success: true, enabled: true, configVersion: 3 })
  expect(await shown(id)).toBe(true)
})

test('an agent that is connected is told at once', async () => {
  const { id } = await t.make.device(site)
  await t.owner`update svc.device_presence set node = 'n1', epoch = 7 where device_id = ${id}`
  await set(id, false)
  await eventually(() => edge.some(({ deliver }) => deliver?.deviceId === id), 'the configuration')
  const message = edge.find(({ deliver }) => deliver?.deviceId === id)
  expect(message?.deliver?.epoch).toBe(7)
  const [frame] = framesIn(message ? [message] : [])
  expect(frame?.configUpdate).toMatchObject({ version: 2, autoUpdate: false })
})

test('it leaves an audit row with what was set', async () => {
  const { id, hostname } = await t.make.device(site)
  await set(id, false)
  const [row] = await t.owner`
    select resource_type, resource_id, resource_name, org_id, details from svc.audit_log
    where action = 'device.auto_update.set' and resource_id = ${id}`
  expect(row).toEqual({
    resourceType: 'device',
    resourceId: id,
    resourceName: hostname,
    orgId: site.orgId,
    details: { enabled: false },
  })
})

test('a decommissioned device is 409 and keeps its configuration', async () => {
  const { id } = await t.make.device(site, { lifecycle: 'decommissioned' })
  const answer = await set(id, false)
  expect([answer.status, answer.body.error.details]).toEqual([
    409,
    [{ from: 'decommissioned', to: 'decommissioned' }],
  ])
  const [row] = await t.owner`select config_version from svc.device_presence where device_id = ${id}`
  expect(row).toEqual({ configVersion: 1 })
})

test('who may see devices and not change them is refused; another tenant sees no device', async () => {
  const { id } = await t.make.device(site)
  expect((await set(id, false, await t.people.orgViewer(site))).status).toBe(403)
  expect((await set(id, false, await t.people.partnerAdmin(await t.make.partner()))).status).toBe(404)
  expect(await shown(id)).toBe(true)
})

test.each([['yes'], [1], [null], [undefined]])('%j is no switch', async (enabled) => {
  const { id } = await t.make.device(site)
  expect((await set(id, enabled)).status).toBe(400)
})

test('of many that switch at once the last one stands, and each made a version', async () => {
  const { id } = await t.make.device(site)
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => set(id, i % 2 === 0)))
  const versions = answers.map(({ body }) => body.configVersion as number)
  expect(versions.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  const last = answers.find(({ body }) => body.configVersion === 11)
  expect(await shown(id)).toBe(last?.body.enabled)
})
