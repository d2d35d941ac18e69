import { expect, test } from 'vitest'
import { type Lock, ownPackages } from './packages.ts'

const at = (version: string, more: object = {}) => ({ version, integrity: `sha512-${version}`, ...more })
const now: Lock = {
  '': {},
  'node_modules/@svc/proto': { link: true },
  'node_modules/a': at('1'),
  'node_modules/@s/b': at('1', { dependencies: { a: '1' } }),
  'node_modules/c': at('1', { peerDependencies: { '@s/b': '1' } }),
  'node_modules/d': at('1'),
  'node_modules/d/node_modules/a': at('2'),
  'part/node_modules/e': at('1'),
}

test('two commits with the same packages share them all', () => {
  expect(ownPackages(now, now)).toEqual({ fetched: [], copied: [] })
  const { 'node_modules/c': _c, ...fewer } = now
  expect(ownPackages(fewer, now)).toEqual({ fetched: [], copied: [] })
})

test('a package of another version is its own, and what relies on it lies beside it', () => {
  const of = { ...now, 'node_modules/a': at('0') }
  const fetched = [{ name: 'a', version: '0', integrity: 'sha512-0' }]
  expect(ownPackages(of, now)).toEqual({ fetched, copied: ['@s/b', 'c'] })
})

test('so is one that is not there, and one whose files were altered', () => {
  const { 'node_modules/d': _d, 'node_modules/d/node_modules/a': _a, ...fewer } = now
  const of = { ...fewer, 'node_modules/d': at('1') }
  const { fetched } = ownPackages(of, { ...fewer }, ['c']) ?? {}
  expect(fetched?.map(({ name }) => name)).toEqual(['c', 'd'])
})

test('one in which another one lies now is its own, since it would find that one', () => {
  const { 'node_modules/d/node_modules/a': _a, ...of } = now
  expect(ownPackages(of, now)?.fetched.map(({ name }) => name)).toEqual(['d'])
})

test.each<[string, Lock]>([
  ['inside another package', { 'node_modules/d/node_modules/a': at('3') }],
  ['of a workspace', { 'part/node_modules/e': at('2') }],
  ['with a script of its own', { 'node_modules/a': at('0', { hasInstallScript: true }) }],
  ['without a checksum', { 'node_modules/a': { version: '0' } }],
])('a difference %s is npm’s to lay out', (_, change) => {
  expect(ownPackages({ ...now, ...change }, now)).toBeUndefined()
})
