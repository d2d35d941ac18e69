import { expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import { thingRoutes } from '../../test/harness/things.ts'

const proxy = '10.9.9.9'
const t = await testApp({ env: { TRUSTED_PROXIES: proxy }, routes: thingRoutes })

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
