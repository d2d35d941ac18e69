import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { findRedisServer, type Redis, startRedis } from '../../../tools/services.ts'
import { limits } from '../../src/kernel/limits.ts'
import { accountsOf } from '../harness/accounts.ts'
import { testApp } from '../harness/app.ts'
import { type Asked, type Peer, startPeer, statuses } from './processes.ts'

const t = await testApp()
const { account, auditOf } = accountsOf(t)

let addresses = 0
const nextAddress = () => `198.51.100.${++addresses}`

/** A key of its own for each count, good for so many requests a minute. */
const perMinute = 40
async function newKey(): Promise<Asked> {
  const { partnerId, userId } = await account()
  const { key } = await t.make.apiKey({ partnerId, userId }, { rateLimit: perMinute })
  return { headers: { 'x-api-key': key } }
}

interface Limited {
  /** as many as are let through */
  points: number
  /** what those answer */
  status: number
  /** one try of a new subject; each call of `begin` makes one */
  begin: () => Promise<(peer: Peer, n: number) => Promise<Response>>
}

const wrong = (email: string) => ({ body: { email, password: 'wrong' } })

/** Limits by whom they count; beside the second factor's, which take several steps. */
const limited: Record<string, Limited> = {
  'logins of one e-mail from one address': {
    points: limits.login.points,
    status: 401,
    begin: async () => {
      const [from, { email }] = [nextAddress(), await account()]
      return (peer) => peer.ask('POST', '/auth/login', from, wrong(email))
    },
  },
  'logins from one address': {
    points: limits['login-address'].points,
    status: 401,
    begin: async () => {
      const from = nextAddress()
      return (peer, n) => peer.ask('POST', '/auth/login', from, wrong(`${from}-${n}@example.com`))
    },
  },
  'forgotten passwords from one address': {
    points: limits['forgot-password'].points,
    status: 200,
    begin: async () => {
      const from = nextAddress()
      const email = (n: number) => `${from}-${n}@example.com`
      return (peer, n) => peer.ask('POST', '/auth/forgot-password', from, { body: { email: email(n) } })
    },
  },
  'enrollments from one address': {
    points: limits.enroll.points,
    status: 401,
    begin: async () => {
      const from = nextAddress()
      const machine = { hostname: 'h', osType: 'linux', architecture: 'x64', agentVersion: '1' }
      return (peer, n) =>
        peer.ask('POST', '/agents/enroll', from, { body: { enrollmentKey: `svce_${n}`, ...machine } })
    },
  },
  'refreshes from one address': {
    points: limits.refresh.points,
    status: 401,
    begin: async () => {
      const from = nextAddress()
      return (peer, n) => peer.ask('POST', '/auth/refresh', from, { body: { refreshToken: `svcr_${n}` } })
    },
  },
  'requests with one API key, from many addresses': {
    points: perMinute,
    status: 200,
    begin: async () => {
      const key = await newKey()
      return (peer, n) => peer.ask('GET', '/devices?limit=1', `203.0.113.${n}`, key)
    },
  },
  'invitations by one user, from many addresses': {
    points: limits.invite.points,
    status: 400,
    begin: async () => {
      const person = await t.people.partnerAdmin(await t.make.partner())
      const headers = { authorization: `Bearer ${await person.token()}` }
      return (peer, n) => peer.ask('POST', '/users/invite', `203.0.113.${n}`, { body: {}, headers })
    },
  },
}

describe.skipIf(!findRedisServer())('two processes that share Redis and Postgres', () => {
  const dir = join(inject('folder'), 'limits-redis')
  let redis: Redis
  let peers: [Peer, Peer]
  /** shares Postgres, but counts in another Redis, and has nothing to count by while that is away */
  let stray: Peer
  beforeAll(async () => {
    redis = await startRedis({ dir })
    const plants = { NODE_ENV: 'test', SVC_TEST_WITHOUT: 'limits_insurance' }
    const [one, two, other] = await Promise.all([
      startPeer(t, redis.url),
      startPeer(t, redis.url),
      startPeer(t, `${redis.url}/1`, plants),
    ])
    peers = [one, two]
    stray = other
  })
  afterAll(async () => {
    for (const { program } of [...(peers ?? []), ...(stray ? [stray] : [])]) {
      program.kill()
      await program.ended
    }
    await redis?.stop()
  })

  test.each(Object.entries(limited))(
    'let through as many %s as one would',
    async (_what, { points, status, begin }) => {
      const more = Math.max(10, Math.ceil(points / 10))
      const seen = await statuses(peers, points + more, await begin())
      expect(seen).toEqual({ [status]: points, 429: more })
    },
  )

  test('one that counts elsewhere is found by that', async () => {
    const { begin } = limited['requests with one API key, from many addresses'] as Limited
    expect(await statuses([peers[0], stray], 2 * perMinute, await begin())).toEqual({ 200: 2 * perMinute })
  })

  test('a database that forgets what it counted is found by that', async () => {
    await t.owner.unsafe(`
      create function svc.forget() returns trigger language plpgsql as $$ begin new.hits := 1; return new; end $$;
      create trigger forget before update on svc.rate_limits for each row execute function svc.forget()`)
    const { begin, points } = limited['logins of one e-mail from one address'] as Limited
    const seen = await statuses(peers, points + 10, await begin())
    await t.owner.unsafe(`drop trigger forget on svc.rate_limits; drop function svc.forget()`)
    expect(seen).toEqual({ 401: points + 10 })
  })

  test('take five codes for one login, and ten of one user whatever the number of logins', async () => {
    const who = await account({ totp: true })
    const logIn = async () => {
      const body = { email: who.email, password: who.password }
      const answer = await peers[0].ask('POST', '/auth/login', nextAddress(), { body })
      return ((await answer.json()) as { tempToken: string }).tempToken
    }
    const guess = (tempToken: string, times: number) =>
      statuses(peers, times, (peer) =>
        peer.ask('POST', '/auth/mfa/verify', nextAddress(), { body: { tempToken, code: '000000' } }),
      )
    expect(await guess(await logIn(), 12)).toEqual({ 401: 12 })
    const tries = async () =>
      (await auditOf(who.userId, 'user.login')).filter((row) => row.result === 'failure')
    expect(await tries()).toHaveLength(5) // the others were told that it is used up
    const [second, third] = [await logIn(), await logIn()]
    expect(await guess(second, 3)).toEqual({ 401: 3 })
    expect(await guess(third, 5)).toEqual({ 401: 2, 429: 3 })
    expect(await tries()).toHaveLength(limits['mfa-user'].points)
  })

  test('while Redis is away each counts for itself and lets in who may come in; back and empty, they count together', async () => {
    const { begin } = limited['requests with one API key, from many addresses'] as Limited
    const [logins, key, straying] = [
      await limited['logins of one e-mail from one address']?.begin(),
      await begin(),
      await begin(),
    ]
    if (!logins) throw new Error('no such limit')
    expect(await statuses(peers, 3, logins)).toEqual({ 401: 3 })
    expect(await statuses(peers, perMinute - 10, key)).toEqual({ 200: perMinute - 10 })
    const clients = await clientsOf(redis)

    await redis.kill()
    for (const peer of peers)
      expect(await statuses([peer], perMinute + 5, key)).toEqual({ 200: perMinute, 429: 5 })
    // What guards secrets counts on.
    expect(await statuses(peers, 5, logins)).toEqual({ 401: 2, 429: 3 })
    // Without its guard nobody gets in.
    expect(await statuses([stray], 5, straying)).not.toHaveProperty('200')

    redis = await startRedis({ dir, port: redis.port, password: redis.password })
    await expect.poll(() => clientsOf(redis)).toBeGreaterThanOrEqual(clients)
    expect(await statuses(peers, perMinute + 10, key)).toEqual({ 200: perMinute, 429: 10 })
    expect(await statuses(peers, 4, logins)).toEqual({ 429: 4 })
  })
})

/** How many connections Redis has beside this look. */
async function clientsOf({ url }: Redis): Promise<number> {
  const client = new Client(url, { lazyConnect: true, retryStrategy: () => null })
  try {
    await client.connect()
    return (
      String(await client.call('CLIENT', 'LIST'))
        .trim()
        .split('\n').length - 1
    )
  } finally {
    client.disconnect()
  }
}
