import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import type { Route } from '../../src/kernel/route.ts'
import { testApp } from '../harness/app.ts'
import { appWith } from './world/app-with.ts'
import { call, nameOf, table } from './world/calls.ts'
import type { Caller } from './world/callers.ts'
import { makeWorld } from './world/things.ts'
import { digests, knownTraces, tracesSince } from './world/traces.ts'

const world = await makeWorld(await testApp())
const writes = table.filter(({ route }) => route.writes)
const names = writes.map(({ name }) => name)

/** A caller of its own for each call, since some end their caller's login. */
const someone = async ({ can }: Route): Promise<Caller> => ({
  person:
    can === 'platform'
      ? await world.people.platformAdmin()
      : await world.people.partnerAdmin(world.places.own.partnerId),
})

/** Calls a route so that it succeeds; `watch` is read after what the call itself needs was made. */
async function prepared(name: string) {
  const found = table.find((entry) => entry.name === name)
  if (!found) throw new Error(`no route ${name}`)
  const { sample, route } = found
  const [caller, things] = [await someone(found.route), await world.things('own')]
  const stage = { world, things, person: caller.person }
  const body = sample.ceremony ? { body: await sample.ceremony(stage) } : {}
  return { route, options: { caller, things, ...body } }
}

test.each(names)('%s leaves exactly the row that it declares', async (name) => {
  const { route, options } = await prepared(name)
  const earlier = await knownTraces(world)
  const reply = await call(world, name, options)
  expect(reply.status).toBe(route.status)
  const rows = await tracesSince(world, earlier)
  if (typeof route.audit !== 'string') expect(rows).toEqual([])
  else {
    // What the platform's administrator does is no partner's, and neither is an account that belongs to nothing.
    const nobodys = route.can === 'platform' || name === 'POST /auth/register'
    const partnerId = nobodys ? null : expect.any(String)
    expect(rows).toMatchObject([{ action: route.audit, result: 'success', partnerId }])
  }
})

test.each(table.filter(({ route }) => !route.writes).map(({ name }) => name))(
  '%s leaves no row and changes nothing',
  async (name) => {
    const { options } = await prepared(name)
    const before = await digests(world)
    expect((await call(world, name, options)).status).toBe(200)
    expect(await digests(world)).toEqual(before)
  },
)

test('a write that declares no row says why', () => {
  const reasons = writes.flatMap(({ route: { audit } }) => (typeof audit === 'object' ? [audit.none] : []))
  expect(reasons.filter((reason) => reason.length < 20)).toEqual([])
  expect(writes.filter(({ route: { audit } }) => audit === false)).toEqual([])
})

describe('when the handler fails after it has done its work', async () => {
  const failing = routes.map((route) => ({
    ...route,
    run: async (...given: Parameters<typeof route.run>) => {
      await route.run(...given)
      throw new Error('the wire broke')
    },
  }))
  const app = await appWith(world, failing)
  const transactional = writes.filter(({ route }) => route.transaction).map(({ name }) => name)

  test.each(transactional)('%s has done nothing and left no row', async (name) => {
    const { options } = await prepared(name)
    const before = await digests(world)
    const reply = await call(world, name, options, app)
    expect([reply.status, reply.json.error.code]).toEqual([500, 'INTERNAL'])
    expect(await digests(world)).toEqual(before)
  })
})

describe('when the audit row cannot be written', () => {
  const audited = routes.filter(({ audit }) => typeof audit === 'string').map(nameOf)
  beforeAll(async () => {
    await world.owner`alter function svc.write_audit rename to write_audit_away`
  })
  afterAll(async () => {
    await world.owner`alter function svc.write_audit_away rename to write_audit`
  })

  // The ceremonies of the others are audited themselves.
  const alone = audited.filter(
    (name) => table.find((entry) => entry.name === name)?.sample.ceremony === undefined,
  )

  test.each(alone)('%s does not happen', async (name) => {
    const { options } = await prepared(name)
    const before = await digests(world)
    expect((await call(world, name, options)).status).toBeGreaterThanOrEqual(500)
    expect(await digests(world)).toEqual(before)
  })
})
