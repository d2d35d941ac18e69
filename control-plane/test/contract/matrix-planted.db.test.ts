import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { isOpen } from '../../src/kernel/access.ts'
import type { Can, Route } from '../../src/kernel/route.ts'
import { testApp } from '../harness/app.ts'
import { faults, withoutAudience } from './matrix/faults.ts'
import { runOf } from './matrix/check.ts'
import { type MatrixRow, readMatrix } from './matrix/rows.ts'
import { nameOf } from './world/calls.ts'
import { appWith } from './world/app-with.ts'
import { makeWorld } from './world/things.ts'

/** Each of these is the product with one mistake in it, and the same run of the same table as in matrix.db.test.ts must say so. */
const world = await makeWorld(await testApp())
const run = runOf(world)
const rows = readMatrix()
const names = routes.map(nameOf)

/** A third of the operations for each mistake, each its own third in turn; with `MATRIX_PLANTED=all` all of them. */
const share = process.env['MATRIX_PLANTED'] === 'all' ? 1 : 3
const some = (all: readonly string[], turn: number) => all.filter((_, at) => (at + turn) % share === 0)

function rowOf(name: string): MatrixRow {
  const row = rows.find(({ operation }) => operation === name)
  if (!row) throw new Error(`no line for ${name}`)
  return row
}

/** The same table, each route changed: each is judged by its own line alone, so one app does for all of them. */
const changed = (change: (route: Route) => Route) => appWith(world, routes.map(change))
const firstDifference = (name: string, app: FastifyInstance) => run.firstDifference(rowOf(name), app)

/** Takes the place of each permission: one of the same resource where there is one, else any other. */
const mistaken = (can: Can): Can =>
  can === 'organizations:read' ? 'organizations:write' : 'organizations:read'

describe.each<[string, number, (can: Can) => Can]>([
  ['signed-in', 0, (can) => (can === 'signed-in' ? 'public' : 'signed-in')],
  ['public', 1, (can) => (isOpen(can) ? 'signed-in' : 'public')],
  ['another permission', 2, mistaken],
  ['platform', 0, (can) => (can === 'platform' ? 'signed-in' : 'platform')],
])('with `can` mistaken for %s', async (_, turn, can) => {
  const app = await changed((route) => ({ ...route, can: can(route.can) }))
  test.each(some(names, turn))('the matrix turns red for %s', async (name) => {
    expect(await firstDifference(name, app)).toContain(name)
  })
})

describe('with `fullAccess` not said where it is', async () => {
  const app = await changed(({ fullAccess: _fullAccess, ...route }) => route)
  test.each(routes.filter(({ fullAccess }) => fullAccess === true).map(nameOf))(
    'the matrix turns red for %s',
    async (name) => {
      expect(await firstDifference(name, app)).toContain(name)
    },
  )
})

describe.each<[string, number, (route: Route) => Route]>([
  ['freshMfa', 1, ({ freshMfa, ...route }) => (freshMfa ? route : { ...route, freshMfa: true })],
  ['mfaExempt', 2, ({ mfaExempt, ...route }) => (mfaExempt ? route : { ...route, mfaExempt: true })],
])('with `%s` said where it is not, and not said where it is', async (_, turn, change) => {
  const app = await changed(change)
  // No role forces anything on the platform's administrator, who is the one caller of such a route that gets further than 403.
  const closed = routes.filter(({ can }) => !isOpen(can) && can !== 'platform').map(nameOf)
  test.each(some(closed, turn))('the matrix turns red for %s', async (name) => {
    expect(await firstDifference(name, app)).toContain(name)
  })
})

test.each(faults)('with %s', async (_, { name, change, says }) => {
  const app = await changed((route) => (nameOf(route) === name ? change(world, route) : route))
  const found = await run.check(rowOf(name), app)
  for (const each of says) expect(found).toContainEqual(expect.stringMatching(each))
})

test('with tokens that are taken for whatever audience', async () => {
  const core = { ...world.core, kernel: withoutAudience(world) }
  const app = await appWith({ ...world, core }, routes)
  expect(await run.check(rowOf('GET /devices'), app)).toContain(
    'GET /devices, own, audience: 200 instead of 401',
  )
})
