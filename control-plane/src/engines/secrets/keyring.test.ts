import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SecretError } from '../../adapters/secrets.ts'
import { Keyring } from './keyring.ts'

const master = { id: '0a0b0c0d', key: randomBytes(32) }
const secrets = new Keyring(master)
const place = { table: 'users', column: 'totp_secret', row: 'r1', org: null }

describe('a sealed value', () => {
  const sealed = secrets.seal('the secret', place)

  test('opens where it was sealed', () => {
    expect(secrets.open(sealed, place).toString()).toBe('the secret')
    expect(secrets.open(secrets.seal(new Uint8Array(), place), place)).toHaveLength(0)
  })

  test.each([{ table: 'orgs' }, { column: 'phone' }, { row: 'r2' }, { org: 'o1' }])(
    'opens nowhere else: %o',
    (other) => {
      expect(() => secrets.open(sealed, { ...place, ...other })).toThrow(SecretError)
    },
  )

  test('does not open once any byte of it was changed', () => {
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => secrets.open(changed, place)).toThrow(SecretError)
    }
    for (const length of [0, 5, 17, 32, sealed.length - 1]) {
      expect(() => secrets.open(sealed.subarray(0, length), place)).toThrow(SecretError)
    }
  })

  test('names the key that it wants', () => {
    const other = new Keyring({ id: '11111111', key: randomBytes(32) })
    expect(() => other.open(sealed, place)).toThrow('sealed under key 0a0b0c0d')
  })

  test('does not hold its text, and no two are alike', () => {
    expect(sealed.includes('the secret')).toBe(false)
    expect(secrets.seal('the secret', place).equals(sealed)).toBe(false)
  })
})

test('derived keys differ by use and by master key', () => {
  const other = new Keyring({ id: master.id, key: randomBytes(32) })
  const keys = [secrets.derive('cursor'), secrets.derive('idempotency'), other.derive('cursor')]
  expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(3)
  expect(secrets.derive('cursor').equals(keys[0] ?? Buffer.of())).toBe(true)
})
