import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { isAlive } from './abandoned.ts'
import { findRedisServer, startRedis } from './redis.ts'

const dir = mkdtempSync(join(tmpdir(), 'svc-services-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { retryStrategy: () => null })
  redis.on('error', () => undefined) // the question itself is rejected
  try {
    return await question(redis)
  } finally {
    redis.disconnect()
  }
}

test('the run has a Redis for itself', async () => {
  expect(await ask(inject('redisUrl'), (redis) => redis.ping())).toBe('PONG')
})

test('it starts, stops, and comes back empty at the same URL', async () => {
  const first = await startRedis({ dir })
  await ask(first.url, (redis) => redis.set('a', '1'))
  await first.kill()
  expect(isAlive(first.pid)).toBe(false)
  const second = await startRedis({ dir, port: first.port, password: first.password })
  expect(second.url).toBe(first.url)
  expect(await ask(second.url, (redis) => redis.get('a'))).toBeNull()
  await second.stop()
  expect(isAlive(second.pid)).toBe(false)
})

test('nobody gets in without the password', async () => {
  const server = await startRedis({ dir })
  const open = `redis://127.0.0.1:${server.port}`
  await expect(ask(open, (redis) => redis.ping())).rejects.toThrow(/NOAUTH/)
  await server.stop()
})

test('a port that is taken is told in its own words', async () => {
  const server = await startRedis({ dir })
  await expect(startRedis({ dir, port: server.port })).rejects.toThrow(/Address already in use/)
  await server.stop()
})

test('it is looked for on PATH alone', () => {
  expect(findRedisServer('')).toBeUndefined()
  expect(findRedisServer('/nonexistent')).toBeUndefined()
  expect(findRedisServer()).toMatch(/\/redis-server$/)
})
