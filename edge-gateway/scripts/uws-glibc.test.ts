import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  adaptFile,
  compareVersions,
  elfHash,
  findBinary,
  glibcVersion,
  lowerGlibcNeed,
  Refusal,
} from './uws-glibc.mjs'

const folder = mkdtempSync(join(tmpdir(), 'svc-engine-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The oldest glibc that has all but the C23 twins; the tests ask for it also where the running one is newer. */
const oldEnough = '2.36'
const binary = join(folder, 'engine.node')

const load = () =>
  spawnSync(process.execPath, [
    '-e',
    'const m = { exports: {} }; process.dlopen(m, process.argv[1]); process.exit(typeof m.exports.App === "function" ? 0 : 3)',
    binary,
  ])

test('versions compare as numbers, not as text', () => {
  expect(compareVersions('2.9', '2.36')).toBeLessThan(0)
  expect(compareVersions('2.38', '2.38')).toBe(0)
  expect(compareVersions('2.2.5', '2.2')).toBeGreaterThan(0)
})

test('names hash as the loader hashes them', () => {
  expect(elfHash('GLIBC_2.2.5')).toBe(0x09691a75)
  expect(elfHash('GLIBC_2.17')).toBe(0x06969197)
})

describe.runIf(process.platform === 'linux' && glibcVersion() && findBinary())(
  'the engine of this machine',
  () => {
    beforeEach(() => {
      const installed = findBinary() ?? ''
      const pristine = `${installed}.orig`
      copyFileSync(existsSync(pristine) ? pristine : installed, binary)
    })

    test('loads after it was adapted, and needs nothing of a newer glibc any more', () => {
      if (compareVersions(glibcVersion() ?? '', '2.38') < 0) expect(load().status).not.toBe(0)
      expect(adaptFile(binary, oldEnough)).toBe(true)
      expect(load().stderr.toString()).toBe('')
      expect(load().status).toBe(0)
      expect(lowerGlibcNeed(readFileSync(binary), oldEnough)).toBeUndefined()
    })

    test('is left alone the second time', () => {
      adaptFile(binary, oldEnough)
      const { ino, mtimeMs } = statSync(binary)
      expect(adaptFile(binary, oldEnough)).toBe(false)
      expect(statSync(binary)).toMatchObject({ ino, mtimeMs })
    })

    test('is left alone where the glibc is new enough', () => {
      expect(adaptFile(binary, '2.38')).toBe(false)
    })

    test('is refused when it needs more than the twins', () => {
      const before = readFileSync(binary)
      expect(() => adaptFile(binary, '2.31')).toThrow(/needs arc4random of GLIBC_2\.36/)
      expect(readFileSync(binary).equals(before)).toBe(true)
    })

    test.each([0, 3, 40, 64, 4096, 600_000, 6_900_000])(
      'is refused untouched when cut to %i bytes',
      (bytes) => {
        truncateSync(binary, bytes)
        const before = readFileSync(binary)
        expect(() => adaptFile(binary, oldEnough)).toThrow(Refusal)
        expect(readFileSync(binary).equals(before)).toBe(true)
        expect(existsSync(`${binary}.${process.pid}.tmp`)).toBe(false)
      },
    )
  },
)

test('a file that is no ELF is refused untouched', () => {
  writeFileSync(binary, 'MZ and more'.repeat(20))
  expect(() => adaptFile(binary, oldEnough)).toThrow('not an ELF file')
  expect(readFileSync(binary, 'latin1')).toBe('MZ and more'.repeat(20))
})
