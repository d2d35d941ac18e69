import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import type { Route } from '../../src/kernel/route.ts'
import { readMatrix } from './matrix/rows.ts'
import { samples } from './world/samples.ts'

const areas = join(import.meta.dirname, '../../src/areas')
const names = routes.map(({ method, path }) => `${method} ${path}`)

test('every routes.ts of an area is in the table of contents', async () => {
  const files = readdirSync(areas, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(^|\/)routes\.ts$/.test(file),
  )
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) {
    const declared = (await import(join(areas, file))) as { default: readonly Route[] }
    expect(
      declared.default.filter((route) => !routes.includes(route)),
      `areas/index.ts leaves out ${file}`,
    ).toEqual([])
  }
})

test('every route has a sample call', () => {
  expect(names.filter((name) => !Object.hasOwn(samples, name))).toEqual([])
})

test('every route has its rows that say who may what, and no row is of a route that is not there', () => {
  const rows = readMatrix().map(({ operation }) => operation)
  expect(names.filter((name) => !rows.includes(name))).toEqual([])
  expect(rows.filter((name) => !names.includes(name))).toEqual([])
})
