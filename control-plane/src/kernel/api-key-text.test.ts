import { expect, test } from 'vitest'
import { isApiKey, makeApiKey, prefixOf } from './api-key-text.ts'

test('a key has its parts, and no two are alike', () => {
  const keys = Array.from({ length: 200 }, makeApiKey)
  for (const key of keys) expect(key).toMatch(/^svc_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
  expect(new Set(keys.map(prefixOf)).size).toBe(200)
  expect(keys.filter((key) => !isApiKey(key))).toEqual([])
})

test('a key with one other character anywhere is none', () => {
  const key = makeApiKey()
  for (let at = 0; at < key.length; at++) {
    const other = key[at] === 'a' ? 'b' : 'a'
    expect(isApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
  }
})

test.each(['', 'svc_', 'svc_unknown', `${makeApiKey()}x`, makeApiKey().slice(1), `${makeApiKey()}\n`])(
  '%j is none',
  (text) => expect(isApiKey(text)).toBe(false),
)

test('the checksum is CRC-32 in base 62, as anybody can make it', () => {
  // python3: zlib.crc32 of what stands before it
  expect(isApiKey(`svc_${'0'.repeat(10)}_${'0'.repeat(43)}_1SM98y`)).toBe(true)
})
