import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { driverSource, repair, repairDriver, repairs } from './postgres-closed.mjs'

const folder = mkdtempSync(join(tmpdir(), 'svc-driver-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const installed = driverSource()
const files = Object.entries(repairs)

test('the installed driver is repaired', () => {
  for (const [file, pairs] of files) {
    const text = readFileSync(join(installed, file), 'utf8')
    expect(repair(text, pairs)).toBe(text)
  }
})

test('what is repaired stays as it is', () => {
  cpSync(installed, folder, { recursive: true })
  repairDriver(folder)
  for (const [file] of files)
    expect(readFileSync(join(folder, file), 'utf8')).toBe(readFileSync(join(installed, file), 'utf8'))
})

test.each(files)('%s as it was published becomes what it is now', (file, pairs) => {
  const now = readFileSync(join(installed, file), 'utf8')
  const published = pairs.reduce((text, [from = '', to = '']) => text.replace(to, () => from), now)
  expect(published).not.toBe(now)
  expect(repair(published, pairs)).toBe(now)
})

test('another version is not touched, and says so', () => {
  expect(() => repair('export const nothing = 1', [['what was', 'what is']])).toThrow(/not there: what was/)
})
