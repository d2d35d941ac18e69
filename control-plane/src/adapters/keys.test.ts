import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KeyError, openKeySet, rotateKeys } from './keys.ts'
import { openMasterKey } from './master-keys.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe('KEYS_DIR', () => {
  test('gets its keys at the first start, readable by their owner alone, and keeps them', () => {
    chmodSync(dir, 0o755)
    const first = openKeySet(dir, 'jwt').current()
    const master = openMasterKey(dir)
    expect(mode(dir)).toBe('700')
    expect(readdirSync(dir).map((file) => [file, mode(join(dir, file))])).toEqual([
      ['jwt-1.pem', '600'],
      ['master.key', '600'],
    ])
    expect(openKeySet(dir, 'jwt').current().id).toBe(first.id)
    expect(openMasterKey(dir)).toEqual(master)
  })

  test('holds the keys of each purpose apart', () => {
    expect(openKeySet(dir, 'jwt').current().id).not.toBe(openKeySet(dir, 'commands').current().id)
  })

  test('keeps two pairs through rotations: the newest signs, the one before still verifies', () => {
    const first = openKeySet(dir, 'jwt').current().id
    rotateKeys(dir, 'jwt')
    const second = openKeySet(dir, 'jwt')
    expect(second.all()).toHaveLength(2)
    expect(second.current().id).not.toBe(first)
    expect(second.find(first)?.id).toBe(first)
    rotateKeys(dir, 'jwt')
    const third = openKeySet(dir, 'jwt')
    expect(third.all()).toHaveLength(2)
    expect(third.find(first)).toBeUndefined()
    expect(third.find(second.current().id)).toBeDefined()
  })

  test('is looked at again for a key that a running server does not know', async () => {
    const running = openKeySet(dir, 'jwt')
    rotateKeys(dir, 'jwt')
    const fresh = openKeySet(dir, 'jwt').current().id
    await sleep(1_050)
    expect(running.find(fresh)?.id).toBe(fresh)
    expect(running.current().id).toBe(fresh)
    expect(running.find('../../dev/null')).toBeUndefined()
  })

  test('with a file that is no key is refused in one line that names it', () => {
    writeFileSync(join(dir, 'jwt-1.pem'), 'no key')
    writeFileSync(join(dir, 'master.key'), 'no key')
    expect(() => openKeySet(dir, 'jwt')).toThrow(KeyError)
    expect(() => openKeySet(dir, 'jwt')).toThrow(join(dir, 'jwt-1.pem'))
    expect(() => openMasterKey(dir)).toThrow(join(dir, 'master.key'))
  })

  test('with a key that everybody may read is refused in one line that names it', () => {
    openKeySet(dir, 'jwt')
    chmodSync(join(dir, 'jwt-1.pem'), 0o644)
    expect(() => openKeySet(dir, 'jwt')).toThrow(/jwt-1\.pem: everybody may read it/)
    chmodSync(join(dir, 'jwt-1.pem'), 0o440)
    expect(openKeySet(dir, 'jwt').all()).toHaveLength(1)
  })

  test('that is a file is refused in one line that names the variable', () => {
    const file = join(dir, 'file')
    writeFileSync(file, '')
    expect(() => openKeySet(file, 'jwt')).toThrow('KEYS_DIR')
  })
})
