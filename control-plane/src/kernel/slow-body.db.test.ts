import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import type { Person } from '../../test/harness/people.ts'

const t = await testApp()
await t.app.listen({ host: '127.0.0.1', port: 0 })
const { port } = t.app.server.address() as AddressInfo

/** Sends the headers and half of a body, and the rest when `meanwhile` is done. */
async function slowly(as: Person, path: string, body: object, meanwhile: () => Promise<unknown>) {
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${await as.token()}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  }
  const call = request({ host: '127.0.0.1', port, path: `/api/v1${path}`, method: 'POST', headers })
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  call.write(text.slice(0, 10))
  await delay(1_200)
  await meanwhile()
  call.end(text.slice(10))
  const [answer] = await answered
  answer.resume()
  return answer.statusCode
}

async function place() {
  const org = await t.make.org()
  return { org, admin: await t.people.orgMember(org), slow: await t.people.orgMember(org) }
}
const groups = ({ orgId }: { orgId: string }) => t.db.rows`select from device_groups where org_id = ${orgId}`

test('a body that arrives after its sender was disabled or removed does nothing', async () => {
  const { org, admin, slow } = await place()
  const body = { orgId: org.orgId, name: 'Too late' }
  const disable = () => t.request(`PATCH /users/${slow.userId}`, admin, { body: { status: 'disabled' } })
  expect(await slowly(slow, '/groups', body, disable)).toBe(401)
  expect(await groups(org)).toHaveLength(0)
})

test('a body that arrives after its sender was given a smaller role does no more than that allows, and is audited', async () => {
  const { org, admin, slow } = await place()
  const roleId = await t.make.role(org, ['devices:read'])
  const demote = () => t.request(`POST /users/${slow.userId}/role`, admin, { body: { roleId } })
  expect(await slowly(slow, '/groups', { orgId: org.orgId, name: 'Too late' }, demote)).toBe(403)
  expect(await groups(org)).toHaveLength(0)
  const denied = await t.db.rows`
    select from audit_log where actor_id = ${slow.userId} and action = 'authorization.denied'`
  expect(denied).toHaveLength(1)
})

test('a slow body of somebody who may still do it is taken', async () => {
  const { org, slow } = await place()
  const nothing = () => Promise.resolve()
  expect(await slowly(slow, '/groups', { orgId: org.orgId, name: 'In time' }, nothing)).toBe(201)
})
