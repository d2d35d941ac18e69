import { expect, test } from 'vitest'
import { writeRelease } from '../../tools/release/write.ts'
import { testApp } from '../test/harness/app.ts'
import { eventually } from '../test/harness/pipeline.ts'
import { makeRelease, releasePublicKey } from '../test/harness/release.ts'
import {
  createPartnerByCommand,
  platformAdminByCommand,
  registerFromFolder,
  releaseSsoByCommand,
} from './server-command.ts'

const t = await testApp()
const folder = t.config.binaryDir ?? ''
const rows = (action: string) => t.owner`
  select actor_type, partner_id, resource_name, details from svc.audit_log where action = ${action} order by at, id`

test('a user becomes administrator of the platform by a command, acts as one, and is one no longer', async () => {
  const person = await t.people.partnerAdmin(await t.make.partner())
  const may = async () => (await t.request('POST /agent-versions/sync-github', person)).status
  expect(await may()).toBe(403)
  expect(await platformAdminByCommand(t.url, person.email.toUpperCase(), true)).toBe(true)
  // Nothing is released, so there is nothing to be found.
  await eventually(async () => (await may()) === 404, 'an administrator of the platform')
  expect(await platformAdminByCommand(t.url, person.email, false)).toBe(true)
  await eventually(async () => (await may()) === 403, 'a user like others')
  expect(await rows('user.platform_admin.set')).toMatchObject([
    { actorType: 'system', partnerId: null, resourceName: person.email, details: { platformAdmin: true } },
    { details: { platformAdmin: false } },
  ])
  expect(await platformAdminByCommand(t.url, 'nobody@example.com', true)).toBe(false)
})

test('a release is registered by a command, audited as one', async () => {
  writeRelease(folder, makeRelease('1.0.0', 1))
  const done = await registerFromFolder(t.url, folder, releasePublicKey, '1.0.0')
  expect(done).toMatchObject({ version: '1.0.0', synced: expect.arrayContaining(['agent:linux/amd64']) })
  expect(await rows('agent_version.sync')).toMatchObject([{ actorType: 'system', resourceName: '1.0.0' }])
  expect(await registerFromFolder(t.url, folder, releasePublicKey, '2.0.0')).toBeUndefined()
})

test('a partner that a command makes says so in its own log, once, and one that is there already does not', async () => {
  const names = { partnerName: 'Acme', partnerSlug: 'acme', adminEmail: 'Boss@acme.example' }
  const made = await createPartnerByCommand(t.url, t.core.ports, names)
  expect(made.secrets).toBeDefined()
  expect((await createPartnerByCommand(t.url, t.core.ports, names)).secrets).toBeUndefined()
  const found = await rows('partner.create')
  expect(found).toMatchObject([
    {
      actorType: 'system',
      partnerId: made.partnerId,
      resourceName: 'Acme',
      details: { administrator: 'boss@acme.example' },
    },
  ])
  expect(JSON.stringify(found)).not.toContain(made.secrets?.password)
})

test('passwords count again where a command says so, once, and the organization’s log tells of it', async () => {
  const org = await t.make.org()
  const id = await t.make.ssoProvider(org, { status: 'active', enforceSso: true })
  expect(await releaseSsoByCommand(t.url, org.orgId)).toBe(true)
  expect((await t.request(`GET /sso/check/${org.orgId}`)).body).toMatchObject({
    ssoEnabled: true,
    enforceSSO: false,
  })
  expect(await releaseSsoByCommand(t.url, org.orgId)).toBe(false)
  const rows = await t.db.rows`
    select action, actor_type, partner_id, org_id from audit_log where resource_id = ${id}`
  expect(rows).toEqual([
    { action: 'sso.enforcement.released', actorType: 'system', partnerId: org.partnerId, orgId: org.orgId },
  ])
})
