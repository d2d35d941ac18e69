import { expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { readMatrix } from './matrix/rows.ts'
import { call, table, takesAnything } from './world/calls.ts'
import { credentialsOf } from './world/credentials.ts'
import { makeWorld } from './world/things.ts'

/** What may be called without a credential: an open operation looks at what it is given instead. */
const open = readMatrix().flatMap(({ operation, needs }) => (needs === 'anyone' ? [operation] : []))

const world = await makeWorld(await testApp())
const closed = table.filter(({ name }) => !open.includes(name))

const strict = table.flatMap(({ name, route }) => (takesAnything(route) ? [] : [name]))

const { credentials, good, bearer } = credentialsOf(world)

test('the token that the others are made from is good', async () => {
  const answer = await world.app.inject({
    url: '/api/v1/auth/me',
    headers: bearer(await (await good()).signed({})),
  })
  expect(answer.statusCode).toBe(200)
})

test.each(credentials)('with %s everything else answers 401, and says no more', async (_, make) => {
  const headers = await make(await good())
  const things = await world.things('own')
  const bodies = new Set<string>()
  for (const { name } of closed) {
    const reply = await call(world, name, { things, headers, body: undefined })
    expect([name, reply.status, reply.json.error.code]).toEqual([name, 401, 'UNAUTHENTICATED'])
    bodies.add(reply.text)
  }
  expect(bodies.size).toBe(1)
})

test.each(open)('%s looks at what is asked, not at credentials', async (name) => {
  const things = await world.things('own')
  for (const [, make] of credentials) {
    const headers = await make(await good())
    const wrong = name.startsWith('GET ') ? { query: { unknown: '1' } } : { body: { unknown: true } }
    const reply = await call(world, name, { things, headers, ...wrong })
    expect(reply.status).toBe(strict.includes(name) ? 400 : 302)
  }
})
