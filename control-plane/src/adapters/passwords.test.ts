import { readFile } from 'node:fs/promises'
import { hash } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { argon2Passwords, type Passwords, PasswordsBusy } from './passwords.ts'

const passwords = argon2Passwords()

test('a password matches its own hash alone, however long it is', async () => {
  const long = 'ä'.repeat(200)
  const stored = await passwords.hash(long)
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await passwords.verify(stored, long)).toBe(true)
  expect(await passwords.verify(stored, `${long}x`)).toBe(false)
  expect(await passwords.verify(stored, long.slice(0, -1))).toBe(false)
})

test('nobody’s password is never right', async () => {
  for (const nothing of [null, undefined, '']) {
    expect(await passwords.verify(nothing, 'no account has this password')).toBe(false)
  }
})

test('a hash under weaker parameters is outdated', async () => {
  expect(passwords.outdated(await hash('x', { memoryCost: 8_192, timeCost: 2, parallelism: 1 }))).toBe(true)
  expect(passwords.outdated(await passwords.hash('x'))).toBe(false)
})

test('too many at once are told to come again, and the queue recovers', async () => {
  const results = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.hash('x')))
  const refused = results.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  expect(refused).toHaveLength(8) // 2 run, 50 wait
  expect(refused.every(({ reason }) => reason instanceof PasswordsBusy)).toBe(true)
  await expect(passwords.hash('x')).resolves.toBeDefined()
})

test('nobody’s password is asked for in vain while there is no room, and in earnest afterwards', async () => {
  const crowded = argon2Passwords({ atOnce: 1, maxWaiting: 0 })
  const first = crowded.hash('x')
  await expect(crowded.verify(undefined, 'x')).rejects.toBeInstanceOf(PasswordsBusy)
  await first
  expect(await crowded.verify(undefined, 'x')).toBe(false)
  expect(crowded.load()).toEqual({ running: 0, waiting: 0, refused: 1 })
})

/** How many of sixteen hashes end before a file is read that was asked for when all had been. */
async function endBeforeAFile(passwords: Passwords): Promise<number> {
  let ended = 0
  const all = Array.from({ length: 16 }, () => passwords.hash('x').then(() => ended++))
  await readFile(import.meta.filename)
  const before = ended
  await Promise.all(all)
  return before
}

test('files need not wait until passwords are done; were all begun at once, they would', async () => {
  expect(await endBeforeAFile(argon2Passwords())).toBeLessThan(10)
  expect(await endBeforeAFile(argon2Passwords({ atOnce: 16, maxWaiting: 0 }))).toBeGreaterThan(10)
})
