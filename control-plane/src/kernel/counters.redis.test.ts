import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { systemClock } from '../adapters/clock.ts'
import { openPool } from '../adapters/postgres.ts'
import { limitsOf } from './counters.ts'
import { limits } from './limits.ts'

const options = { enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => null }
const unused = openPool({ url: inject('databaseUrl'), max: 1, name: 'unused' })
const clients = [1, 2].map(() => new Redis(inject('redisUrl'), { ...options, lazyConnect: true }))
await Promise.all(clients.map((client) => client.connect()))
const [one, two] = clients.map((client) => limitsOf(unused, client, systemClock)) as [
  ReturnType<typeof limitsOf>,
  ReturnType<typeof limitsOf>,
]
const somebody = () => ({ ip: `2001:db8:${randomBytes(2).toString('hex')}::1` })
const { points } = limits.refresh
afterAll(async () => {
  await unused.end()
  for (const client of clients) client.disconnect()
})

test('two processes count together', async () => {
  const who = somebody()
  for (let n = 0; n < points; n++) await (n % 2 ? one : two).hit('refresh', who)
  await expect(one.hit('refresh', who)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  await expect(two.check('refresh', who)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  await two.reset('refresh', who)
  await expect(one.check('refresh', who)).resolves.toBeUndefined()
})

test('a limit whose number is its subject’s own is counted on beyond the usual one, by both, and without Redis too', async () => {
  const who = { key: crypto.randomUUID() }
  const usual = limits['api-key'].points
  for (let n = 0; n < usual + 20; n++) await (n % 2 ? one : two).count('api-key', who)
  const { hits, msLeft } = await one.count('api-key', who)
  expect(hits).toBe(usual + 21)
  expect(msLeft).toBeGreaterThan(30_000)
  expect(msLeft).toBeLessThanOrEqual(60_000)
  const alone = limitsOf(unused, undefined, systemClock)
  for (let n = 0; n < usual + 20; n++) await alone.count('api-key', who)
  expect(await alone.count('api-key', who)).toMatchObject({ hits: usual + 21 })
})

test('with Redis gone each process still counts for itself', async () => {
  const who = somebody()
  clients[0]?.disconnect()
  for (let n = 0; n < points; n++) await one.hit('refresh', who)
  await expect(one.hit('refresh', who)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
})
