import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { isOpen } from '../../src/kernel/access.ts'
import type { Can, Route } from '../../src/kernel/route.ts'
import { testApp } from '../harness/app.ts'
import { runOf } from './matrix/check.ts'
import { readMatrix } from './matrix/rows.ts'
import { nameOf, table } from './world/calls.ts'
import { appWith } from './world/app-with.ts'
import { makeCaller } from './world/callers.ts'
import { makeWorld } from './world/things.ts'

const world = await makeWorld(await testApp())
const run = runOf(world)
const rows = readMatrix()
const names = routes.map(nameOf)
const rowsOf = (name: string) => rows.filter(({ operation }) => operation === name)

test('a route that names something says what becomes of what is foreign and of what is absent', () => {
  const targets = (name: string) => rowsOf(name).map(({ target }) => target)
  const naming = table.filter(({ sample }) => sample.params).map(({ name }) => name)
  expect(
    naming.filter((name) => !['own', 'sibling', 'foreign', 'absent'].every((t) => targets(name).includes(t))),
  ).toEqual([])
})

test('every row has a cell for every kind of caller', () => {
  for (const row of rows)
    expect([...row.expected.keys()].toSorted()).toEqual(Object.keys(makeCaller).toSorted())
})

test.each(names)('%s answers each caller about each target as the matrix says', async (name) => {
  const found: string[] = []
  for (const row of rowsOf(name)) found.push(...(await run.differences(row)))
  expect(found).toEqual([])
})

/** The same table, each route changed: each is judged by its own rows alone, so one app does for all of them. */
const changed = (change: (route: Route) => Route) => appWith(world, routes.map(change))

async function firstDifference(name: string, app: FastifyInstance): Promise<string | undefined> {
  for (const row of rowsOf(name)) {
    const [found] = await run.differences(row, app, 1)
    if (found) return found
  }
  return undefined
}

/** Takes the place of each permission: one of the same resource where there is one, else any other. */
const mistaken = (can: Can): Can =>
  can === 'organizations:read' ? 'organizations:write' : 'organizations:read'

describe.each<[string, (can: Can) => Can]>([
  ['signed-in', (can) => (can === 'signed-in' ? 'public' : 'signed-in')],
  ['public', (can) => (isOpen(can) ? 'signed-in' : 'public')],
  ['another permission', mistaken],
  ['platform', (can) => (can === 'platform' ? 'signed-in' : 'platform')],
])('with `can` mistaken for %s', async (_, can) => {
  const app = await changed((route) => ({ ...route, can: can(route.can) }))
  test.each(names)('the matrix turns red for %s', async (name) => {
    expect(await firstDifference(name, app)).toContain(name)
  })
})

describe('with `fullAccess` not said where it is', async () => {
  const app = await changed(({ fullAccess: _fullAccess, ...route }) => route)
  test.each(routes.filter(({ fullAccess }) => fullAccess).map(nameOf))(
    'the matrix turns red for %s',
    async (name) => {
      expect(await firstDifference(name, app)).toContain(name)
    },
  )
})

describe.each<[string, (route: Route) => Route]>([
  ['freshMfa', ({ freshMfa, ...route }) => (freshMfa ? route : { ...route, freshMfa: true })],
  ['mfaExempt', ({ mfaExempt, ...route }) => (mfaExempt ? route : { ...route, mfaExempt: true })],
])('with `%s` said where it is not, and not said where it is', async (_, change) => {
  const app = await changed(change)
  // No role forces anything on the platform's administrator, who is the one caller of such a route that gets further than 403.
  const closed = routes.filter(({ can }) => !isOpen(can) && can !== 'platform').map(nameOf)
  test.each(closed)('the matrix turns red for %s', async (name) => {
    expect(await firstDifference(name, app)).toContain(name)
  })
})
