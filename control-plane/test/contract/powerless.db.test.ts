import { expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { call, table } from './world/calls.ts'
import { makeWorld } from './world/things.ts'
import { digests, knownTraces, tracesSince } from './world/traces.ts'

const world = await makeWorld(await testApp())
const powerless = { person: await world.people.powerless(world.places.own) }
const stray = { person: await world.people.stray() }
/** what a refusal may leave behind: its row, and counts */
const besidesTheLog = ['audit_log', 'rate_limits', 'mfa_challenges']
const permitted = table.filter(({ route }) => route.can.includes(':'))

test('there are routes that demand a permission', () => {
  expect(permitted.length).toBeGreaterThan(10)
})

test.each(permitted.map(({ name }) => name))(
  '%s is refused to whoever lacks the permission; nothing happens but that the log tells of it',
  async (name) => {
    const things = await world.things('own')
    const person = await world.people.powerless(world.places.own)
    const [before, traces] = [await digests(world, besidesTheLog), await knownTraces(world)]
    const reply = await call(world, name, { caller: { person }, things })
    expect([reply.status, reply.json.error.code]).toEqual([403, 'FORBIDDEN'])
    expect(await digests(world, besidesTheLog)).toEqual(before)
    const denied = { action: 'authorization.denied', result: 'denied', actorType: 'user' }
    expect(await tracesSince(world, traces)).toEqual([expect.objectContaining(denied)])
  },
)

test.each(permitted.map(({ name }) => name))(
  '%s is refused before anything is validated or looked up',
  async (name) => {
    const things = {
      ...(await world.things('absent')),
      device: 'no-id',
      organization: 'no-id',
      site: 'no-id',
    }
    const options = { caller: powerless, things, query: { unknown: 'key' }, body: undefined }
    expect((await call(world, name, options)).status).toBe(403)
  },
)

test.each(permitted.map(({ name }) => name))(
  '%s is refused to an account that belongs to nothing',
  async (name) => {
    const reply = await call(world, name, { caller: stray, things: await world.things('own') })
    expect([reply.status, reply.json.error.code]).toEqual([403, 'CONTEXT_REQUIRED'])
  },
)
