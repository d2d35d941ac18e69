import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ceilingOf } from '../../test/harness/ceiling.ts'
import { permissionCatalogue } from './permissions.ts'
import { allPermissions, beyond, covers, pairOf, type Right, rightOf } from './rights.ts'

const right = fc.constantFrom<Right>(...allPermissions, '*:*')
const rights = fc.uniqueArray(right, { maxLength: 12 }).map((list) => new Set(list))

test('full access covers everything, and nothing else covers full access', () => {
  expect(covers(new Set<Right>(['*:*']), [...allPermissions, '*:*'])).toBe(true)
  expect(covers(new Set<Right>(allPermissions), ['*:*'])).toBe(false)
  expect(covers(new Set<Right>(), [])).toBe(true)
})

test('what is covered is what a model says, one right at a time', () => {
  fc.assert(
    fc.property(rights, rights, (held, wanted) => {
      expect(covers(held, wanted)).toBe(ceilingOf(held, wanted).length === 0)
      expect(beyond(held, wanted)).toEqual(ceilingOf(held, wanted))
    }),
    { numRuns: 5_000 },
  )
})

test.each([
  ['devices', 'view', 'devices:read'],
  ['devices', 'create', 'devices:write'],
  ['devices', 'update', 'devices:write'],
  ['devices', 'write', 'devices:write'],
  ['devices', 'delete', 'devices:delete'],
  ['settings', 'view', 'organizations:write'],
  ['settings', 'update', 'organizations:write'],
  ['remote', 'access', 'remote:access'],
  ['*', '*', '*:*'],
])('%s:%s of a body is %s', (resource, action, meant) => {
  expect(rightOf({ resource, action })).toBe(meant)
})

test.each([
  ['remote', 'view'],
  ['devices', '*'],
  ['*', 'read'],
  ['settings', '*'],
  ['settings', 'acknowledge'],
  ['devices', 'constructor'],
  ['__proto__', 'read'],
  ['devices:read', ''],
  ['', 'devices:read'],
  ['Devices', 'read'],
])('%s:%s is in no catalogue', (resource, action) => {
  expect(rightOf({ resource, action })).toBeUndefined()
})

test('no pair of words becomes anything but a right of the catalogue, and each right is its own pair', () => {
  const word = fc.oneof(
    fc.constantFrom(...Object.keys(permissionCatalogue), ...Object.values(permissionCatalogue).flat()),
    fc.constantFrom('*', 'view', 'create', 'update', 'settings', 'toString', ''),
    fc.string({ maxLength: 12 }),
  )
  fc.assert(
    fc.property(word, word, (resource, action) => {
      const found = rightOf({ resource, action })
      if (found !== undefined) expect([...allPermissions, '*:*']).toContain(found)
    }),
    { numRuns: 5_000 },
  )
  for (const each of [...allPermissions, '*:*'] as Right[]) expect(rightOf(pairOf(each))).toBe(each)
})
