import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openManifest, releaseKey, releaseKeyId, targetOf } from '@svc/proto'
import { afterAll, expect, test } from 'vitest'
import { buildRelease, type ReleaseInput } from './build.ts'
import { readSwitches, releaseOf } from './commands.ts'
import { ensureReleaseKeys, readReleaseKey } from './keys.ts'
import { nextSequence, writeRelease } from './write.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-release-'))
afterAll(() => rmSync(folder, { recursive: true }))
const { publicKey, keyFile } = ensureReleaseKeys(join(folder, 'keys'))
const key = readReleaseKey(keyFile)

const input = (more: Partial<ReleaseInput> = {}): ReleaseInput => ({
  version: '1.2.3',
  sequence: 4,
  key,
  releasedAt: new Date('2026-01-01T00:00:00Z'),
  expiresAt: new Date('2026-01-31T00:00:00Z'),
  files: { agent: Buffer.from('agent'), helper: Buffer.from('helper') },
  ...more,
})

test('keys are made once, and the private one is its owner’s alone', () => {
  expect(statSync(keyFile).mode & 0o777).toBe(0o600)
  const pem = readFileSync(keyFile, 'utf8')
  expect(ensureReleaseKeys(join(folder, 'keys'))).toEqual({ publicKey, keyFile })
  expect(readFileSync(keyFile, 'utf8')).toBe(pem)
  expect(readFileSync(join(folder, 'keys/release-key.pub'), 'utf8').trim()).toBe(publicKey)
  expect(Buffer.from(publicKey, 'base64')).toHaveLength(32)
})

test('a manifest names every target with size and hash, and opens with the public key', () => {
  const { manifest, manifestBytes, signature } = buildRelease(input())
  const trusted = releaseKey(publicKey)
  const signed = Buffer.from(signature.signature, 'base64')
  const opened = openManifest(manifestBytes, signed, signature.keyId, new Map([[trusted.keyId, trusted.key]]))
  expect(opened).toEqual(manifest)
  expect(signature.keyId).toBe(releaseKeyId(Buffer.from(publicKey, 'base64')))
  expect(manifest.assets.map(targetOf)).toHaveLength(12)
  expect(manifest.assets.map(targetOf)).toContain('helper:windows/arm64')
})

test('the same input gives the same bytes', () => {
  expect(buildRelease(input())).toEqual(buildRelease(input()))
  expect(buildRelease(input({ sequence: 5 })).signature).not.toEqual(buildRelease(input()).signature)
})

test('what no agent would take is not signed', () => {
  expect(() => buildRelease(input({ version: '1.2' }))).toThrow()
  expect(() => buildRelease(input({ sequence: 0 }))).toThrow()
  expect(() => buildRelease(input({ files: {} }))).toThrow()
})

test('a release is written whole, executable, and once', () => {
  const out = join(folder, 'out')
  expect(nextSequence(out)).toBe(1)
  const place = writeRelease(out, buildRelease(input({ targets: [{ os: 'linux', arch: 'amd64' }] })))
  expect(readdirSync(place).toSorted()).toEqual([
    'manifest.json',
    'manifest.json.sig',
    'svc-agent-1.2.3-linux-amd64',
    'svc-helper-1.2.3-linux-amd64',
  ])
  expect(statSync(join(place, 'svc-agent-1.2.3-linux-amd64')).mode & 0o777).toBe(0o755)
  expect(() => writeRelease(out, buildRelease(input()))).toThrow('released once')
  expect(readdirSync(out)).toEqual(['1.2.3'])
  expect(nextSequence(out)).toBe(5)
})

test('the switches say what is built', async () => {
  const helper = join(folder, 'helper')
  writeFileSync(helper, 'helper')
  const args = [
    '--version',
    'v2.0.0',
    '--kinds',
    'helper',
    '--helper',
    helper,
    '--targets',
    'linux/arm64',
    '--expires-days',
    '7',
  ]
  const given = readSwitches([...args, '--released-at', '2026-01-01', '--notes', 'New.'])
  const { manifest } = await releaseOf(given, keyFile, 9)
  expect(manifest).toMatchObject({
    version: '2.0.0',
    sequence: 9,
    notes: 'New.',
    expiresAt: '2026-01-08T00:00:00.000Z',
  })
  expect(manifest.assets.map(targetOf)).toEqual(['helper:linux/arm64'])
})

test.each([
  [['--targets', 'linux/mips'], 'linux/mips is none of'],
  [['--kinds', 'watchdog'], 'watchdog is none of'],
  [['--kinds', 'helper'], '--helper FILE'],
  [['--sequence', '0'], '--sequence needs a number'],
  [['--released-at', 'soon'], '--released-at needs a date'],
])('%j is refused in one line', async (args, line) => {
  const given = readSwitches(['--version', '1.0.0', ...args])
  await expect(releaseOf(given, keyFile, 1)).rejects.toThrow(line)
  expect(() => readSwitches(['--nonsense'])).toThrow('--nonsense')
})
