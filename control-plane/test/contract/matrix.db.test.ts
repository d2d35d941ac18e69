import { expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { testApp } from '../harness/app.ts'
import { runOf } from './matrix/check.ts'
import { cellsOf } from './matrix/expected.ts'
import { principals } from './matrix/principals.ts'
import { readMatrix } from './matrix/rows.ts'
import { nameOf, sampleOf } from './world/calls.ts'
import { makeCaller } from './world/callers.ts'
import { makeWorld } from './world/things.ts'

const world = await makeWorld(await testApp())
const run = runOf(world)
const rows = readMatrix()

test('the table has one line for each operation there is, and no other', () => {
  expect(rows.map(({ operation }) => operation).toSorted()).toEqual(routes.map(nameOf).toSorted())
})

test('what names something, in the path or the body, says whose it is', () => {
  const naming = rows.filter(({ operation }) => sampleOf(operation).params)
  expect(naming.filter(({ whose }) => whose === '-')).toEqual([])
  expect(naming.length).toBeGreaterThan(20)
})

test('there is somebody for every kind of caller, and an exception for nobody else', () => {
  expect(Object.keys(makeCaller).toSorted()).toEqual(Object.keys(principals).toSorted())
  const excepted = rows.flatMap(({ but }) => [...but.keys()].map((key) => key.split('@')[0]))
  expect(excepted.filter((name) => !name || !(name in principals))).toEqual([])
})

test('the whole table is thousands of calls', () => {
  expect(rows.flatMap(cellsOf).length).toBeGreaterThan(5_000)
})

test.each(rows.map((row) => ({ operation: row.operation, row })))(
  '$operation: each caller gets what the table says, nobody sees what is another’s, and a refusal does nothing',
  async ({ row }) => {
    expect((await run.check(row)).slice(0, 10)).toEqual([])
  },
)
