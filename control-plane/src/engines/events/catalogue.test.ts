import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventTypes } from './catalogue.ts'

const source = join(import.meta.dirname, '../..')

const code = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('events/catalogue.ts'),
  )
  .map((path) => readFileSync(join(source, path), 'utf8'))
  .join('\n')

test.each(Object.keys(eventTypes))('%s is emitted somewhere (promise P11)', (type) => {
  expect(code).toContain(`'${type}'`)
})

test('nothing is emitted that the catalogue does not know', () => {
  const emitted = [...code.matchAll(/type: '([a-z_]+\.[a-z_]+)',?\s/g)].map((match) => match[1])
  const unknown = emitted.filter(
    (type) => /^(device|command)\./.test(type ?? '') && !Object.hasOwn(eventTypes, type ?? ''),
  )
  expect(unknown).toEqual([])
})
