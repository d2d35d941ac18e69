import { expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import { thingRoutes } from '../../test/harness/things.ts'
import { routes } from '../areas/index.ts'

const proxy = '10.9.9.9'
const t = await testApp({ env: { TRUSTED_PROXIES: proxy }, routes: [...routes, ...thingRoutes] })

const guess = (remoteAddress: string, forwarded?: string) =>
  t.request('POST /public/sign-in', null, {
    body: { email: `${crypto.randomUUID()}@one.example`, password: 'wrong' },
    remoteAddress,
    ...(forwarded !== undefined && { headers: { 'x-forwarded-for': forwarded } }),
  })

const lastAddress = async () => {
  const rows = await t.db.rows<{ ip: string }>`
    select host(a.ip) as ip from audit_log a where a.action = 'test.login' order by a.at desc, a.id desc limit 1`
  return rows[0]?.ip
}

test.each([
  ['what a trusted proxy says', proxy, '192.0.2.7', '192.0.2.7'],
  ['of a chain, what the trusted proxy itself saw', proxy, 'somebody, 192.0.2.8', '192.0.2.8'],
  ['the proxy, where what it hands on is no address', proxy, 'somebody', proxy],
  ['the proxy, where it names a port', proxy, '192.0.2.7:443', proxy],
  ['a neighbour on the link, without its zone', 'fe80::1%eth0', undefined, 'fe80::1'],
])('a failed login is audited at %s', async (_what, peer, forwarded, wanted) => {
  expect((await guess(peer, forwarded)).status).toBe(401)
  expect(await lastAddress()).toBe(wanted)
})

test('guesses from made-up addresses behind a proxy run into its own limit', async () => {
  const made = Array.from({ length: 60 }, (_, n) => guess(proxy, `somebody-${n}`))
  expect((await Promise.all(made)).some(({ status }) => status === 429)).toBe(true)
})

test('a key for some addresses works from who is said to be there, and not from whom the proxy does not name', async () => {
  const admin = await t.people.partnerAdmin(await t.make.partner())
  const body = { name: 'Office', scopes: ['users:read'], ipAllowlist: [proxy, '192.0.2.7'] }
  const { key } = (await t.request('POST /api-keys', admin, { body })).body
  const use = async (remoteAddress: string, forwarded?: string) =>
    (
      await t.request('GET /users', null, {
        remoteAddress,
        headers: { 'x-api-key': key, ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) },
      })
    ).status
  for (const [peer, said] of [[proxy], [proxy, '192.0.2.7'], ['192.0.2.7', 'somebody']] as const)
    expect([peer, said, await use(peer, said)]).toEqual([peer, said, 200])
  for (const said of [
    'somebody',
    '198.51.100.9:443',
    'unknown',
    '192.0.2.7, 198.51.100.9',
    '192.0.2.7 '.repeat(2),
  ])
    expect([said, await use(proxy, said)]).toEqual([said, 403])
  expect(await use('198.51.100.9', '192.0.2.7')).toBe(403)
})
