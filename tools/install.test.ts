import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { countInstalled, isInstalled } from './install.mjs'

const folder = mkdtempSync(join(tmpdir(), 'svc-install-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const locked = {
  '': { name: 'svc' },
  proto: { version: '0.1.0' },
  'node_modules/@svc/proto': { link: true },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/for-windows': { version: '1.0.0', optional: true },
  'proto/node_modules/a': { version: '2.0.0' },
}
const { 'node_modules/for-windows': _, '': __, ...noted } = locked

const write = (file: string, packages: object) =>
  writeFileSync(join(folder, file), JSON.stringify({ packages }))
const note = (packages: object) => write('node_modules/.package-lock.json', packages)

beforeEach(() => {
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
  mkdirSync(join(folder, 'node_modules'))
  write('package-lock.json', locked)
})

test('a fresh clone is not installed', () => {
  expect(isInstalled(folder)).toBe(false)
})

test('all that is locked is installed, but for packages of other platforms', () => {
  note(noted)
  expect(isInstalled(folder)).toBe(true)
})

test.each([
  ['another version', { ...noted, 'node_modules/a': { version: '1.0.1' } }],
  ['a missing nested package', { ...noted, 'proto/node_modules/a': undefined }],
  ['a package too many', { ...noted, 'node_modules/b': { version: '1.0.0' } }],
])('%s is not installed', (_name, packages) => {
  note(packages)
  expect(isInstalled(folder)).toBe(false)
})

test('of the packages that every machine needs those are counted that are in place', () => {
  mkdirSync(join(folder, 'node_modules/a'))
  expect(countInstalled(folder)).toEqual({ there: 0, needed: 2 })
  writeFileSync(join(folder, 'node_modules/a/package.json'), '{}')
  expect(countInstalled(folder)).toEqual({ there: 1, needed: 2 })
})
