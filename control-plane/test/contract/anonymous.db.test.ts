import { expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { call, table } from './world/calls.ts'
import { credentialsOf } from './world/credentials.ts'
import { makeWorld } from './world/things.ts'

/** What may be called without a credential, and what it wants instead. */
const open: Record<string, string> = {
  'POST /auth/login': 'e-mail and password',
  'POST /auth/refresh': 'a refresh token',
  'POST /auth/mfa/verify': 'a tempToken',
  'POST /auth/mfa/sms/send': 'a tempToken',
  'POST /auth/register': 'what an account is made of',
  'POST /auth/register-partner': 'what a partner and an account are made of',
  'POST /auth/forgot-password': 'an e-mail, and answers nothing about it',
  'POST /auth/reset-password': 'the token of a mailed link',
  'POST /auth/invite/preview': 'the token of a mailed link',
  'POST /auth/accept-invite': 'the token of a mailed link',
  'POST /agents/enroll': 'an enrollment key',
  'GET /agents/download/:os/:arch': 'nothing: the agent is no secret',
}

const world = await makeWorld(await testApp())
const closed = table.filter(({ name }) => !(name in open))

const { credentials, good, bearer } = credentialsOf(world)

test('the token that the others are made from is good', async () => {
  const answer = await world.app.inject({
    url: '/api/v1/auth/me',
    headers: bearer(await (await good()).signed({})),
  })
  expect(answer.statusCode).toBe(200)
})

test('what may be called without a credential is on the list, and the list names nothing else', () => {
  const declared = table.filter(({ route }) => route.can === 'public' || route.can === 'enrollment')
  expect(declared.map(({ name }) => name).toSorted()).toEqual(Object.keys(open).toSorted())
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

test.each(Object.keys(open))('%s looks at what is asked, not at credentials', async (name) => {
  const things = await world.things('own')
  for (const [, make] of credentials) {
    const headers = await make(await good())
    const wrong = name.startsWith('GET ') ? { query: { unknown: '1' } } : { body: { unknown: true } }
    const reply = await call(world, name, { things, headers, ...wrong })
    expect(reply.status).toBe(400)
  }
})
