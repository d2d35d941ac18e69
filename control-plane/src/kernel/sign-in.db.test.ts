import { describe, expect, test } from 'vitest'
import { thingsApp } from '../../test/harness/things.ts'

const t = await thingsApp()
const { request, make, db, clock } = t
const { partnerId } = await make.org()

const auditRows = (action: string) => db.rows<Record<string, unknown>>`
  select a.* from audit_log a where a.action = ${action} order by a.at, a.id`

describe('a login', () => {
  const signIn = (password: string, more: object = {}, ip = '192.0.2.1') =>
    request('POST /public/sign-in', null, {
      body: { email: 'Some@One.example', password, ...more },
      remoteAddress: ip,
    })

  test('acts in the scope it has proved, and is audited there; before it sees nothing', async () => {
    expect((await signIn('right', { partnerId }, '192.0.2.9')).status).toBe(204)
    const [row] = await auditRows('test.login')
    expect(row).toMatchObject({ partnerId, result: 'success', actorType: 'anonymous' })
    const { before, after } = (row?.['details'] ?? {}) as { before?: number; after?: number }
    expect(before).toBe(0)
    expect(after).toBeGreaterThan(0)
  })

  test('that fails is audited although everything else is rolled back', async () => {
    await signIn('wrong', {}, '192.0.2.8')
    const failures = (await auditRows('test.login')).filter(({ result }) => result === 'failure')
    expect(failures.at(-1)).toMatchObject({ partnerId: null, ip: '192.0.2.8', details: { reason: 'wrong' } })
  })

  test('is refused after five failures, also with the right password, until the window ends', async () => {
    const answers = []
    for (let n = 0; n < 6; n++) answers.push(await signIn('wrong'))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429])
    const refused = await signIn('right', { partnerId })
    expect(refused.body).toMatchObject({ error: { code: 'RATE_LIMITED' }, retryAfter: expect.any(Number) })
    expect(Number(refused.headers['retry-after'])).toBe(refused.body.retryAfter)
    expect(refused.body.retryAfter).toBeLessThanOrEqual(900)
    expect((await signIn('right', { partnerId }, '192.0.2.2')).status).toBe(204) // another place
    clock.advance(15 * 60_000)
    expect((await signIn('right', { partnerId })).status).toBe(204)
  })

  test('counts failures alone, a /64 as one place, and no word of a proxy that is not trusted', async () => {
    for (let n = 0; n < 8; n++) expect((await signIn('right', { partnerId }, '192.0.2.3')).status).toBe(204)
    for (let n = 0; n < 8; n++) expect((await signIn('right', {}, '192.0.2.3')).status).toBe(409)
    const last = []
    for (let n = 0; n < 6; n++) last.push((await signIn('wrong', {}, `2001:db8::${n + 1}`)).status)
    expect(last.at(-1)).toBe(429)
    const spoofed = []
    for (let n = 0; n < 6; n++) {
      const headers = { 'x-forwarded-for': `203.0.113.${n}` }
      const more = { body: { email: 'x@y.z', password: 'wrong' }, headers, remoteAddress: '192.0.2.4' }
      spoofed.push((await request('POST /public/sign-in', null, more)).status)
    }
    expect(spoofed.at(-1)).toBe(429)
  })

  test('a guess that cannot be audited is answered as our fault, and counts all the same', async () => {
    await t.owner`alter function svc.write_audit rename to write_audit_away`
    try {
      const answers = []
      for (let n = 0; n < 6; n++) answers.push((await signIn('wrong', {}, '192.0.2.6')).status)
      expect(answers).toEqual([500, 500, 500, 500, 500, 429])
    } finally {
      await t.owner`alter function svc.write_audit_away rename to write_audit`
    }
  })

  test('twenty guesses at once are no more than five', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => signIn('wrong', {}, '192.0.2.5')))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15)
  })
})
