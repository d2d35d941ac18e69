import { expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { call, table } from './world/calls.ts'
import { makeWorld } from './world/things.ts'
import { knownTraces, tracesSince } from './world/traces.ts'

const world = await makeWorld(await testApp())
const things = await world.things('own')
const powerless = { person: await world.people.powerless(world.places.own) }
const permitted = table.filter(({ route }) => route.can.includes(':'))

test('there are routes that demand a permission', () => {
  expect(permitted.length).toBeGreaterThan(10)
})

test.each(permitted.map(({ name }) => name))(
  '%s is refused to whoever lacks the permission, and the log tells of it',
  async (name) => {
    const person = await world.people.powerless(world.places.own)
    const traces = await knownTraces(world)
    const reply = await call(world, name, { caller: { person }, things })
    expect([reply.status, reply.json.error.code]).toEqual([403, 'FORBIDDEN'])
    const denied = { action: 'authorization.denied', result: 'denied', actorType: 'user' }
    expect(await tracesSince(world, traces)).toEqual([expect.objectContaining(denied)])
  },
)

test.each(permitted.map(({ name }) => name))(
  '%s is refused before anything is validated or looked up',
  async (name) => {
    const malformed = { ...things, device: 'no-id', organization: 'no-id', site: 'no-id' }
    const options = { caller: powerless, things: malformed, query: { unknown: 'key' }, body: undefined }
    expect((await call(world, name, options)).status).toBe(403)
  },
)
