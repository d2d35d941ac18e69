import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { goldens } from '../../src/goldens.ts'

const root = resolve(import.meta.dirname, '../../..')

test.each(Object.entries(goldens()))('%s is up to date (npm run golden)', (path, wanted) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(wanted)
})
