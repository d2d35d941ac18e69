import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import type { Person, PersonOptions } from '../../test/harness/people.ts'
import { countingWire } from '../../test/harness/wire.ts'
import { openCore } from '../core.ts'
import { makeApiKey } from './api-key-text.ts'

const t = await testApp()
const { owner, make, people } = t

/** Longer than anything is remembered, and far from the five seconds that are promised. */
const remembered = () => sleep(2_050)

type Wanted = NonNullable<Parameters<typeof make.apiKey>[1]>
interface Held {
  key: string
  id: string
  person: Person
  partnerId: string
}

/** A partner's user with everything, and a key of theirs. */
async function held(wanted: Wanted = {}, options: PersonOptions = {}): Promise<Held> {
  const partnerId = await make.partner()
  const person = await people.partnerAdmin(partnerId, options)
  const made = await make.apiKey({ partnerId, userId: person.userId }, wanted)
  return { ...made, person, partnerId }
}

const using = (
  key: string,
  what: `${string} /${string}` = 'GET /devices',
  more: Record<string, unknown> = {},
) => t.request(what, null, { ...more, headers: { 'x-api-key': key } })

test('a key does what its scopes say and its owner may, and nothing else', async () => {
  const scopes = ['devices:read', 'sites:read', 'users:read'] as const
  const { key } = await held({ scopes }, { permissions: ['devices:read', 'devices:write', 'sites:read'] })
  const statuses = async () =>
    Promise.all(
      (['GET /devices', 'GET /orgs/sites', 'GET /orgs/organizations'] as const).map(
        async (what) => (await using(key, what)).status,
      ),
    )
  expect(await statuses()).toEqual([200, 200, 403])
  const refused = await using(key, 'GET /orgs/organizations')
  expect(refused.body.error.code).toBe('FORBIDDEN')
})

test('what is no key, or none that works, is 401 and says no more', async () => {
  const good = await held()
  const past = new Date(Date.now() - 1_000)
  const wrong = [
    'svc_x',
    makeApiKey(),
    (await held({ revoked: true })).key,
    (await held({ expiresAt: past })).key,
    `${good.key.slice(0, -1)}${good.key.endsWith('a') ? 'b' : 'a'}`,
  ]
  const texts = new Set<string>()
  for (const key of wrong) {
    const { status, body } = await using(key)
    expect([status, body.error.code]).toEqual([401, 'UNAUTHENTICATED'])
    texts.add(JSON.stringify(body))
  }
  expect(texts.size).toBe(1)
  expect((await using(good.key)).status).toBe(200)
})

test('a key ends in time, whatever is remembered of it', async () => {
  const { key } = await held({ expiresAt: new Date(t.clock.now().getTime() + 60_000) })
  expect((await using(key)).status).toBe(200)
  t.clock.advance(61_000)
  expect((await using(key)).status).toBe(401)
})

test('a wrong checksum asks the database nothing, and a key that is remembered neither', async () => {
  const wire = await countingWire(t.url)
  // Nothing else is to be asked: neither whether the database is there, nor for connections that are kept open.
  const without = new Set(['database_pulse', 'pool_reserve'])
  const core = await openCore({ ...t.config, databaseAppUrl: wire.url }, t.bus, { without })
  await core.pools.limits`select 1`
  const [{ key }, warm] = [await held(), await held()]
  const as = (apiKey: string) => core.kernel.identify({ authorization: undefined, apiKey, ip: '192.0.2.9' })
  const trips = async (work: () => Promise<unknown>) => {
    const before = wire.trips()
    await work()
    return wire.trips() - before
  }
  await as(warm.key) // connects, and prepares the statements
  expect(await trips(() => Promise.all(Array.from({ length: 50 }, () => as(key))))).toBe(2)
  expect(await trips(() => as(key))).toBe(0)
  expect(await trips(() => as(`${key}x`).catch(() => undefined))).toBe(0)
  expect(await trips(() => as(makeApiKey()).catch(() => undefined))).toBeGreaterThan(0)
  await core.close()
  wire.close()
})

/** Everything that ends a key or takes a right from it, and what is answered then. */
const ends: [string, number, (held: Held) => PromiseLike<unknown>][] = [
  ['it is revoked', 401, ({ id }) => owner`update api_keys set revoked_at = now() where id = ${id}`],
  [
    'its owner is disabled',
    401,
    (h) => owner`update users set status = 'disabled' where id = ${h.person.userId}`,
  ],
  [
    'its owner’s membership is gone',
    401,
    (h) => owner`delete from partner_memberships where user_id = ${h.person.userId}`,
  ],
  [
    'its owner’s role loses the right',
    403,
    (h) => owner`update role_permissions set resource = 'sites', action = 'read'
      where role_id = (select role_id from partner_memberships where user_id = ${h.person.userId})`,
  ],
  [
    'its partner is suspended',
    401,
    (h) => owner`update partners set status = 'suspended' where id = ${h.partnerId}`,
  ],
]

/** Two processes, of which the other one hears of it over the bus. */
const other = await openCore(t.config, t.bus)
afterAll(() => other.close())
const inOther = (apiKey: string) =>
  other.kernel.identify({ authorization: undefined, apiKey, ip: '192.0.2.1' }).then(
    ({ permissions }) => (permissions.has('devices:read') ? 200 : 403),
    () => 401,
  )

test.each(ends)(
  'when %s the next request is refused (%i): with the bus at once, in every process',
  async (_, status, end) => {
    const h = await held()
    expect([(await using(h.key)).status, await inOther(h.key)]).toEqual([200, 200])
    await end(h)
    await t.core.ports.apiKeys.changed()
    await t.core.ports.callers.changed(h.person.userId)
    await sleep(50) // the bus hands over later
    expect([(await using(h.key)).status, await inOther(h.key)]).toEqual([status, status])
  },
)

test.each(ends)(
  'when %s and the bus is away, it is refused (%i) within two seconds',
  async (_, status, end) => {
    const h = await held()
    expect([(await using(h.key)).status, await inOther(h.key)]).toEqual([200, 200])
    await end(h)
    expect((await using(h.key)).status).toBe(200) // still remembered: the wait below is what it takes
    await remembered()
    expect([(await using(h.key)).status, await inOther(h.key)]).toEqual([status, status])
  },
)

test('a key narrowed to an organization dies with it, and when its owner no longer sees that one', async () => {
  const partnerId = await make.partner()
  const [one, two] = [await make.org(partnerId), await make.org(partnerId)]
  const person = await people.partnerMember(partnerId, [one.orgId, two.orgId])
  const [first, second] = [
    await make.apiKey({ ...one, userId: person.userId }),
    await make.apiKey({ ...two, userId: person.userId }),
  ]
  for (const { key } of [first, second]) expect((await using(key)).status).toBe(200)
  await owner`update organizations set deleted_at = now() where id = ${one.orgId}`
  await owner`update partner_memberships set org_ids = ${[one.orgId]} where user_id = ${person.userId}`
  await remembered()
  for (const { key } of [first, second]) expect((await using(key)).status).toBe(401)
})

test('a key keeps the sites that its owner is limited to', async () => {
  const org = await make.org()
  const [mine, others] = [await make.site(org), await make.site(org)]
  const [seen, hidden] = [await make.device(mine), await make.device(others)]
  const person = await people.orgMember(org, { siteIds: [mine.siteId] })
  const { key } = await make.apiKey({ ...org, memberOrg: org.orgId, userId: person.userId })
  expect((await using(key, `GET /devices/${seen.id}`)).status).toBe(200)
  expect((await using(key, `GET /devices/${hidden.id}`)).status).toBe(404)
})

test('a key is good from where it says, IPv4 inside IPv6 included; elsewhere it is 403 and the log tells of it', async () => {
  const { key, id } = await held({ ipAllowlist: ['192.0.2.0/24', '2001:db8::/32'] })
  const from = async (remoteAddress: string) => (await using(key, 'GET /devices', { remoteAddress })).status
  for (const address of ['192.0.2.1', '::ffff:192.0.2.9', '2001:db8::1'])
    expect(await from(address)).toBe(200)
  for (const address of ['192.0.3.1', '::ffff:192.0.3.1', '2001:db9::1'])
    expect(await from(address)).toBe(403)
  const refused = await using(key, 'GET /devices', { remoteAddress: '198.51.100.7' })
  expect(refused.body.error).toMatchObject({ code: 'IP_NOT_ALLOWED' })
  expect(refused.headers['x-ratelimit-remaining']).toBeUndefined()
  const spoofed = await t.request('GET /devices', null, {
    remoteAddress: '198.51.100.7',
    headers: { 'x-api-key': key, 'x-forwarded-for': '192.0.2.1' },
  })
  expect(spoofed.status).toBe(403)
  const rows = await t.db
    .rows`select result, details ->> 'code' as code from audit_log where actor_id = ${id}`
  expect(rows).toHaveLength(5)
  expect(rows[0]).toEqual({ result: 'denied', code: 'IP_NOT_ALLOWED' })
})

test('each answer says what is left of the minute; then it is 429, for this key alone', async () => {
  const [one, two] = [await held({ rateLimit: 3 }), await held({ rateLimit: 3 })]
  const answers = [
    await using(one.key),
    await using(one.key, 'GET /orgs/sites'), // 403
    await using(one.key, 'GET /devices/x' as 'GET /devices'), // 400
    await using(one.key),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 400, 429])
  expect(answers.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['2', '1', '0', '0'])
  for (const { headers } of answers) {
    expect(headers['x-ratelimit-limit']).toBe('3')
    expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(50)
    expect(Number(headers['x-ratelimit-reset'])).toBeLessThanOrEqual(60)
  }
  const [last] = answers.slice(-1)
  expect(last?.body).toMatchObject({ error: { code: 'RATE_LIMITED' }, retryAfter: expect.any(Number) })
  expect(last?.headers['retry-after']).toBe(String(last?.body.retryAfter))
  expect((await using(two.key)).status).toBe(200)
})

test('guessing keys is limited per address; a key that is known there goes on, and is not counted', async () => {
  const { key } = await held({ rateLimit: 100_000 })
  const from = async (remoteAddress: string, apiKey: string) =>
    (await using(apiKey, 'GET /devices', { remoteAddress })).status
  for (let n = 0; n < 310; n++) await from('203.0.113.1', key)
  expect(await from('203.0.113.1', makeApiKey())).toBe(401)
  const guesses = await Promise.all(Array.from({ length: 305 }, () => from('203.0.113.1', makeApiKey())))
  expect(guesses.filter((status) => status === 401)).toHaveLength(299)
  expect(guesses.filter((status) => status === 429)).toHaveLength(6)
  expect(await from('203.0.113.1', 'svc_mistyped')).toBe(401)
  await t.core.ports.apiKeys.changed() // it is looked up again
  expect(await from('203.0.113.1', key)).toBe(200)
  expect(await from('203.0.113.1', (await held()).key)).toBe(429) // new here, and so like a guess
  expect(await from('203.0.113.2', makeApiKey())).toBe(401)
})

test('logins are no key’s; an open endpoint does not look at it', async () => {
  const { key } = await held()
  const me = await using(key, 'GET /auth/me')
  expect([me.status, me.body.error.code]).toEqual([403, 'FORBIDDEN'])
  expect((await using(key, 'POST /auth/logout')).status).toBe(403)
  const open = await using('svc_unknown', 'POST /auth/refresh', { body: { refreshToken: 'none' } })
  expect(open.body.error.code).toBe('REFRESH_INVALID')
})

test('an owner who must enrol a second factor has keys that wait for it too', async () => {
  const { key, person } = await held({}, { forceMfa: true, mfaAt: null })
  expect((await using(key)).status).toBe(428)
  await owner`update users set totp_secret = '\\x00' where id = ${person.userId}`
  await t.core.ports.callers.changed(person.userId)
  expect((await using(key)).status).toBe(200)
})

test('uses are counted together and written down later; a failure loses none', async () => {
  const { key, id } = await held()
  const count = async () =>
    t.db.one<{
      n: number
      at: Date | null
    }>`select usage_count as n, last_used_at as at from api_keys where id = ${id}`
  await Promise.all(Array.from({ length: 20 }, () => using(key)))
  expect(await count()).toEqual({ n: 0, at: null })
  await owner`alter function svc.note_api_key_uses rename to lost`
  await t.core.kernel.keyUses.flush()
  await owner`alter function svc.lost rename to note_api_key_uses`
  await using(key)
  await t.core.kernel.keyUses.flush()
  await t.core.kernel.keyUses.flush()
  const counted = await count()
  expect(counted?.n).toBe(21)
  expect(Math.abs((counted?.at?.getTime() ?? 0) - t.clock.now().getTime())).toBeLessThan(5_000)
})

test('what a process has counted is written when it ends', async () => {
  const { key, id } = await held()
  const core = await openCore(t.config, t.bus)
  const caller = await core.kernel.identify({ authorization: undefined, apiKey: key, ip: '192.0.2.1' })
  if (caller.key) core.kernel.keyUses.add(caller.key, new Date(), 7)
  await core.close()
  expect(await t.db.one`select usage_count as n from api_keys where id = ${id}`).toEqual({ n: 7 })
})
