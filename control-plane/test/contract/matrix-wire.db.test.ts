import { BlockList } from 'node:net'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { testApp } from '../harness/app.ts'
import { type MatrixRow, readMatrix } from './matrix/rows.ts'
import { forwarded, otherWays } from './matrix/variants.ts'
import { wireTo } from './matrix/wire.ts'
import { wireCheck } from './matrix/wire-check.ts'
import { appWith } from './world/app-with.ts'
import { makeWorld } from './world/things.ts'

const world = await makeWorld(await testApp())
const check = wireCheck(world, await world.things('own'))
const rows = readMatrix()
const cases = rows.map((row, at) => ({ operation: row.operation, row, at }))
const wire = await wireTo(world.app)

/** The product behind a proxy that it trusts: what that says of addresses is believed, and changes nothing else. */
const trustedProxies = new BlockList()
trustedProxies.addAddress('127.0.0.1')
const trusting = await wireTo(
  await appWith({ ...world, config: { ...world.config, trustedProxies } }, routes),
)

test('there are dozens of ways to write a request, and headers that claim something', () => {
  expect(Object.keys(otherWays).length).toBeGreaterThan(40)
  expect(Object.keys(forwarded).length).toBeGreaterThan(15)
})

/**
 * Of these each operation meets every third, and each of them every third operation, whose neighbours of the same area meet the others:
 * what reads paths and headers is the same for all. `MATRIX_WIRE=all` is each with each.
 */
const shareOf = (variants: object, turn: number) =>
  Object.keys(variants).filter((_, at) => process.env['MATRIX_WIRE'] === 'all' || (at + turn) % 3 === 0)

test.each(cases)(
  '$operation: however its path is written, and whatever headers claim, an answer stays what it is',
  async ({ row, at }) => {
    const tried = { ways: shareOf(otherWays, at), headers: shareOf(forwarded, at) }
    expect(await check(wire, row, tried)).toEqual([])
    // Where the proxy is trusted, a key that is bound to addresses is believed to be there.
    const more = { headers: shareOf(forwarded, at + 1) }
    expect(await check(trusting, row, more, ['anonymous', 'lacking', 'other', 'all'])).toEqual([])
  },
)

/** The product behind something that rewrites requests before it: what goes wrong between the two. */
async function behind(change: (request: IncomingMessage, admin: string) => void) {
  const app: FastifyInstance = await appWith(world, routes)
  const person = await world.by.first.people.partnerAdmin(world.places.own.partnerId)
  const admin = `Bearer ${await person.token()}`
  const [handle] = app.server.listeners('request') as ((...given: unknown[]) => void)[]
  app.server.removeAllListeners('request').on('request', (request: IncomingMessage, ...more) => {
    change(request, admin)
    handle?.(request, ...more)
  })
  return wireTo(app)
}

const ways = Object.keys(otherWays)
const headers = Object.keys(forwarded)
const rowOf = (name: string) => rows.find(({ operation }) => operation === name) as MatrixRow

describe('it turns red', () => {
  test('where paths are put in order after it was decided who may', async () => {
    const faulty = await behind((request, admin) => {
      if (!request.url?.startsWith('/api/')) request.headers.authorization = admin
      request.url = request.url?.replaceAll(/\/{2,}/g, '/') ?? ''
    })
    const found = await check(faulty, rowOf('GET /devices/:id'), { ways })
    expect(found).toContain('GET /devices/:id, anonymous, two slashes at the beginning: 200 instead of 401')
    expect(found.join()).toMatch(/other, two slashes at the beginning: shows .*zqown/)
  })

  test('where an encoded path is taken for one that is open', async () => {
    const faulty = await behind((request, admin) => {
      if (request.url?.startsWith('/docs/')) request.headers.authorization = admin
      request.url = new URL(request.url ?? '', 'http://svc.test').pathname
    })
    const found = await check(faulty, rowOf('DELETE /devices/:id'), { ways })
    // Whoever comes first gives the device up.
    expect(found.join()).toMatch(/%2E%2E out of what is open: 200 instead of 40[134]/)
    expect(found).toContain('DELETE /devices/:id: svc.devices changed')
  })

  test('where the address that a header claims is believed', async () => {
    const faulty = await behind((request, admin) => {
      if (request.headers['x-forwarded-for'] === '127.0.0.1') request.headers.authorization = admin
    })
    expect((await check(faulty, rowOf('GET /orgs/sites'), { headers })).join()).toMatch(
      /GET \/orgs\/sites, anonymous, x-forwarded-for of this host: 200 .* instead of 401/,
    )
  })

  test('where a header says what is asked', async () => {
    const faulty = await behind((request) => {
      request.url = String(request.headers['x-original-url'] ?? request.url)
    })
    expect((await check(faulty, rowOf('GET /users/me'), { headers })).join()).toMatch(
      /anonymous, x-original-url of what is open: (404|405)/,
    )
  })

  test('where a header says what is done', async () => {
    const faulty = await behind((request) => {
      request.method = String(request.headers['x-http-method-override'] ?? request.method)
    })
    expect((await check(faulty, rowOf('POST /roles'), { headers })).join()).toMatch(
      /lacking, x-http-method-override: 200/,
    )
  })
})
