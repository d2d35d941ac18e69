import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Permission } from '../../../kernel/permissions.ts'

const t = await testApp()
const managing: Permission[] = ['users:read', 'users:write', 'users:delete', 'users:invite', 'devices:read']

/** An organization with a role that gives everything, and somebody who manages its users and may not do everything. */
async function place() {
  const org = await t.make.org()
  const manager = await t.people.orgMember(org, { permissions: managing })
  return { org, manager, everything: (await t.make.role(org, ['*:*'])).toUpperCase() }
}

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
  status,
  body.error?.code,
]
const refused = [403, 'DELEGATION_CEILING']

test('a role whose id is written in capitals gives no less for it', async () => {
  const { org, manager, everything: roleId } = await place()
  const { userId } = await t.people.orgMember(org, { permissions: [] })
  const body = { email: 'capital@example.com', name: 'Kim', roleId }
  expect(codeOf(await t.request('POST /users/invite', manager, { body }))).toEqual(refused)
  expect(codeOf(await t.request(`POST /users/${userId}/role`, manager, { body: { roleId } }))).toEqual(
    refused,
  )
  const cloned = await t.request(`POST /roles/${roleId}/clone`, manager, { body: { name: 'Clone' } })
  expect(codeOf(cloned)).toEqual(refused)
  expect(codeOf(await t.request(`DELETE /roles/${roleId}`, manager))).toEqual(refused)
})

test('an id in capitals names what it names in small letters, in paths, bodies and queries', async () => {
  const { org } = await place()
  const { siteId } = await t.make.site(org)
  const group = await t.make.group(org)
  const admin = await t.people.orgMember(org)
  const limits = { siteIds: [siteId.toUpperCase()], deviceGroupIds: [group.toUpperCase()] }
  const roleId = (await t.make.role(org, ['devices:read'])).toUpperCase()
  const invited = await t.request('POST /users/invite', admin, {
    body: { email: 'capitals@example.com', name: 'Kim', roleId, ...limits },
  })
  expect([invited.status, invited.body]).toMatchObject([201, { siteIds: [siteId], deviceGroupIds: [group] }])
  const path = `/users/${String(invited.body.id).toUpperCase()}` as const
  const removed = await t.request(`DELETE ${path}`, admin, { query: { orgId: org.orgId.toUpperCase() } })
  expect(removed.status).toBe(204)
})
