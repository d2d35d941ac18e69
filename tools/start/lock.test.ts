import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { identify } from '../services/abandoned.ts'
import { lockOwner, takeLock, withLock } from './lock.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-lock-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a lock is held by one at a time and is free after its release', async () => {
  const path = join(folder, 'once')
  const lock = await takeLock(path)
  expect(lock?.stale).toBe(false)
  expect(lockOwner(path)).toBe(process.pid)
  expect(await takeLock(path)).toBeUndefined()
  lock?.release()
  expect(lockOwner(path)).toBeUndefined()
  expect(readdirSync(folder)).toEqual([])
})

test('a lock whose owner is gone is taken over, also when another process has its number by now', async () => {
  const path = join(folder, 'stale')
  for (const content of ['2147483647 1', `${process.pid} 1`, '']) {
    writeFileSync(path, content)
    expect(lockOwner(path)).toBeUndefined()
    const lock = await takeLock(path)
    expect(lock?.stale).toBe(true)
    lock?.release()
  }
})

test('a release after somebody else took the lock leaves it to them', async () => {
  const path = join(folder, 'others')
  const lock = await takeLock(path)
  writeFileSync(path, identify(process.ppid) ?? '')
  lock?.release()
  expect(lockOwner(path)).toBe(process.ppid)
})

test('those who wait for a lock have it one after the other', async () => {
  const path = join(folder, 'queue')
  let inside = 0
  const work = async () => {
    expect(++inside).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    inside--
  }
  await Promise.all([withLock(path, 5_000, work), withLock(path, 5_000, work), withLock(path, 5_000, work)])
})
