import { expect, test } from 'vitest'
import type { Route } from '../../src/kernel/route.ts'
import { allPermissions } from '../../src/kernel/rights.ts'
import type { Permission } from '../../src/kernel/permissions.ts'
import { testApp } from '../harness/app.ts'
import { call, table } from './world/calls.ts'
import { makeWorld } from './world/things.ts'
import { digests } from './world/traces.ts'

const world = await makeWorld(await testApp())
const { own } = world.places
const isOpen = ({ can }: Route) => can === 'public' || can === 'enrollment'
const closed = table.filter(({ route }) => !isOpen(route))
const permitted = closed.filter(({ route }) => route.can.includes(':'))
const others = closed.filter(({ route }) => !route.can.includes(':'))

/** The key of a partner's user who may do everything, and whose second factor was never checked. */
async function keyWith(scopes: readonly Permission[], more: { ipAllowlist?: string[] } = {}) {
  const { userId } = await world.people.partnerAdmin(own.partnerId, { mfaAt: null })
  const owner = { partnerId: own.partnerId, userId }
  const { key } = await world.make.apiKey(owner, { scopes, rateLimit: 100_000, ...more })
  return { userId, headers: { 'x-api-key': key } }
}

/** Reads that are about whoever logged in. */
const ofPeople = ['GET /users/me']
const everything = await keyWith(allPermissions)

test.each(permitted.map(({ name }) => name))(
  '%s: a key that has the scope is let in, and nobody asks it for a second factor',
  async (name) => {
    const can = permitted.find((entry) => entry.name === name)?.route.can as Permission
    const things = await world.things('own')
    const { headers } = await keyWith([can])
    const reply = await call(world, name, { things, headers })
    // What else is asked is the endpoint's own business; that the scope suffices is not.
    if (reply.status >= 300)
      expect([reply.status, reply.json.error.code]).toEqual([403, 'DELEGATION_CEILING'])
  },
)

test.each(permitted.map(({ name }) => name))(
  '%s: a key with every other scope is refused, and nothing happens',
  async (name) => {
    const can = permitted.find((entry) => entry.name === name)?.route.can
    const { headers } = await keyWith(allPermissions.filter((scope) => scope !== can))
    const things = await world.things('own')
    const before = await digests(world, ['audit_log', 'rate_limits', 'mfa_challenges'])
    const reply = await call(world, name, { things, headers })
    expect([reply.status, reply.json.error.code]).toEqual([403, 'FORBIDDEN'])
    expect(await digests(world, ['audit_log', 'rate_limits', 'mfa_challenges'])).toEqual(before)
  },
)

test.each(others.map(({ name }) => name))(
  '%s: what no scope is asked for, a key may read at most, and no login',
  async (name) => {
    const { route } = others.find((entry) => entry.name === name) ?? {}
    const things = await world.things('own')
    const reply = await call(world, name, { things, headers: everything.headers })
    const isPeoples = route?.path.startsWith('/auth/') || ofPeople.includes(name)
    const refused = route?.can === 'platform' || isPeoples || route?.writes
    expect(reply.status === 403).toBe(refused)
    if (!refused) expect(reply.status).toBe(200)
  },
)

test('a key of a disabled owner, and one from elsewhere, is refused everywhere', async () => {
  const [disabled, elsewhere] = [
    await keyWith(allPermissions),
    await keyWith(allPermissions, { ipAllowlist: ['192.0.2.0/24'] }),
  ]
  await world.owner`update svc.users set status = 'disabled' where id = ${disabled.userId}`
  const things = await world.things('own')
  for (const { name } of closed) {
    const reply = await call(world, name, { things, headers: disabled.headers })
    expect([name, reply.status]).toEqual([name, 401])
    const far = await call(world, name, { things, headers: elsewhere.headers })
    expect([name, far.status, far.json.error.code]).toEqual([name, 403, 'IP_NOT_ALLOWED'])
  }
})
