import { expect, test } from 'vitest'
import { type LatestAsset, LatestTable } from './releases.ts'

const asset = (kind: 'agent' | 'helper', os: string, version: string): LatestAsset => ({
  kind,
  os,
  arch: 'amd64',
  version,
  url: null,
  size: 1,
  sha256: '',
  sequence: 1,
  expiresAt: new Date(),
  manifest: Buffer.alloc(0),
  signature: Buffer.alloc(0),
  keyId: '',
})
const table = new LatestTable([
  asset('agent', 'linux', '1.10.0'),
  asset('agent', 'macos', '1.2.0'),
  asset('helper', 'linux', '0.3.0'),
])

test.each([
  ['agent', '1.9.9', true],
  ['agent', '1.10.0', false],
  ['agent', '1.10.0-rc.1', true],
  ['agent', '1.11.0-rc.1', false],
  ['agent', 'nightly', false],
  ['helper', '0.2.9', true],
] as const)('%s %s may be outdated: %s', (kind, version, outdated) => {
  expect(table.mayBeOutdated(kind, version)).toBe(outdated)
  expect(table.mayBeOutdated(kind, version)).toBe(outdated)
})

test('what a device is updated to is of its own target', () => {
  const newer = (os: string, version: string) => table.newerThan('agent', os, 'amd64', version)?.version
  expect(newer('linux', '1.9.0')).toBe('1.10.0')
  expect(newer('macos', '1.9.0')).toBeUndefined()
  expect(newer('windows', '0.1.0')).toBeUndefined()
  expect(table.newerThan('agent', 'linux', 'arm64', '0.1.0')).toBeUndefined()
})

test('where nothing is released nothing is outdated', () => {
  expect(new LatestTable([]).mayBeOutdated('agent', '0.0.1')).toBe(false)
})
