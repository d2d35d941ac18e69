import { setTimeout as sleep } from 'node:timers/promises'
import { names } from '@svc/proto/bus'
import { describe, expect, test } from 'vitest'
import type { Person } from '../../test/harness/people.ts'
import { openCore } from '../core.ts'
import { thingsApp } from '../../test/harness/things.ts'

const t = await thingsApp()
const { request, people, make, clock } = t
const partnerId = await make.partner()
const admin = await people.partnerAdmin(partnerId)

test('what one process is told of a user, the others know at once', async () => {
  const other = await openCore(t.config, t.bus)
  const person = await people.partnerAdmin(partnerId)
  const bearer = { authorization: `Bearer ${await person.token()}`, apiKey: undefined, ip: '192.0.2.1' }
  expect((await other.kernel.identify(bearer)).kind).toBe('user')
  await t.owner`update users set status = 'disabled' where id = ${person.userId}`
  await t.core.ports.callers.changed(person.userId)
  await sleep(50) // the bus hands over later
  await expect(other.kernel.identify(bearer)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await other.close()
})

test('a hundred who ask at once about one user share one answer, and a failure is not kept', async () => {
  const { userId } = await people.partnerAdmin(partnerId)
  const { callers } = t.core.ports
  const answers = await Promise.all(Array.from({ length: 100 }, () => callers.find(userId)))
  expect(new Set(answers).size).toBe(1)
  expect(answers[0]?.memberships).toHaveLength(1)
  await t.owner`alter function load_caller rename to lost`
  await callers.changed(userId)
  await expect(callers.find(userId)).rejects.toThrow()
  await t.owner`alter function lost rename to load_caller`
  expect((await callers.find(userId))?.status).toBe('active')
})

test('a hint that cannot be read is about everybody, and ends no process', async () => {
  const person = await people.partnerAdmin(partnerId)
  expect((await request('GET /things', person)).status).toBe(200)
  await t.owner`update users set status = 'disabled' where id = ${person.userId}`
  await t.bus.publish(names.apiAll(), new Uint8Array([0xff, 0xff, 0xff]))
  await sleep(50) // the bus hands over later
  expect((await request('GET /things', person)).status).toBe(401)
})

describe('who may call', () => {
  test('401 without a credential, before anything is said about the request', async () => {
    const bad = { body: { nonsense: true } }
    for (const what of [
      'GET /things',
      'GET /things/x',
      'POST /things',
      'GET /platform',
      'GET /exempt',
    ] as const) {
      const { status, body, headers } = await request(what, null, what.startsWith('POST') ? bad : {})
      expect([status, body.error.code, headers['www-authenticate']]).toEqual([
        401,
        'UNAUTHENTICATED',
        'Bearer',
      ])
    }
  })

  test.each([
    ['a token of nobody', { authorization: 'Bearer nonsense' }],
    ['another scheme', { authorization: 'Basic YTpi' }],
    ['an API key that is none', { 'x-api-key': 'svc_x' }],
    ['an empty bearer', { authorization: 'Bearer ' }],
  ])('401 with %s', async (_what, headers) => {
    expect((await request('GET /things', null, { headers })).status).toBe(401)
    expect((await request('GET /public/nothing', null, { headers })).body).toEqual({ seen: 0, who: 'nobody' })
  })

  test('403 without the permission, 200 with it, with the wildcard, and with one that a parent role has', async () => {
    const org = await make.org()
    const cases: [Person, number][] = [
      [await people.powerless(org), 403],
      [await people.orgMember(org, { permissions: ['devices:read', 'organizations:write'] }), 403],
      [await people.orgMember(org, { permissions: ['organizations:read'] }), 200],
      [await people.orgMember(org), 200],
    ]
    for (const [person, status] of cases) expect((await request('GET /things', person)).status).toBe(status)

    const parentRoleId = await make.role({ partnerId }, ['organizations:read'])
    const middle = await make.role({ partnerId }, [], { parentRoleId })
    const roleId = await make.role({ partnerId }, [], { parentRoleId: middle })
    const heir = await people.partnerAdmin(partnerId, { permissions: [] })
    await t.owner`update partner_memberships set role_id = ${roleId} where user_id = ${heir.userId}`
    expect((await request('GET /things', heir)).status).toBe(200)
    expect((await request('POST /things', heir, { body: { name: 'x' } })).status).toBe(403)
  })

  test('a user of no tenant is told so; the platform’s routes are its administrator’s alone', async () => {
    const stray = await people.stray()
    expect((await request('GET /things', stray)).body.error.code).toBe('CONTEXT_REQUIRED')
    expect((await request('GET /exempt', stray)).status).toBe(200)
    const platform = await people.platformAdmin()
    expect((await request('GET /platform', admin)).status).toBe(403)
    expect((await request('GET /platform', platform)).body.partners).toBeGreaterThan(0)
    expect((await request('GET /things', platform)).body.error.code).toBe('CONTEXT_REQUIRED')
  })

  test('428 while the role demands a second factor that the user has not, but for what enrols it; 403 comes first', async () => {
    const org = await make.org()
    const forced = await people.orgMember(org, { forceMfa: true })
    expect((await request('GET /things', forced)).body.error.code).toBe('MFA_ENROLLMENT_REQUIRED')
    expect((await request('GET /exempt', forced)).status).toBe(200)
    const weak = await people.orgMember(org, { forceMfa: true, permissions: [] })
    expect((await request('GET /things', weak)).status).toBe(403)
    await t.owner`update users set totp_secret = '\\x00' where id = ${forced.userId}`
    await t.core.ports.callers.changed(forced.userId)
    expect((await request('GET /things', forced)).status).toBe(200)
  })

  test('428 also where a parent of the role demands it: who inherits what a role gives inherits what it asks', async () => {
    const top = await make.role({ partnerId }, ['organizations:read'], { forceMfa: true })
    const middle = await make.role({ partnerId }, [], { parentRoleId: top })
    const roleId = await make.role({ partnerId }, [], { parentRoleId: middle })
    const heir = await people.partnerAdmin(partnerId, { permissions: [] })
    await t.owner`update partner_memberships set role_id = ${roleId} where user_id = ${heir.userId}`
    expect((await request('GET /things', heir)).status).toBe(428)
    await t.owner`update roles set force_mfa = false where id = ${top}`
    await t.core.ports.callers.changed()
    expect((await request('GET /things', heir)).status).toBe(200)
  })

  test('full access is asked for after the permission and before a second factor', async () => {
    const org = await make.org(partnerId)
    const { siteId } = await make.site(org)
    const ask = async (person: Person) => {
      const { status, body } = await request('POST /things/whole', person)
      return [status, body.error?.code]
    }
    expect(await ask(await people.partnerMember(partnerId, 'none', { permissions: [] }))).toEqual([
      403,
      'FORBIDDEN',
    ])
    for (const limited of [
      await people.partnerMember(partnerId, 'none'),
      await people.partnerMember(partnerId, [org.orgId], { forceMfa: true }),
      await people.orgMember(org, { siteIds: [siteId], mfaAt: null }),
      await people.orgMember(org, { deviceGroupIds: [await make.group(org)] }),
    ]) {
      expect(await ask(limited)).toEqual([403, 'FULL_ACCESS_REQUIRED'])
    }
    expect(await ask(await people.orgMember(org, { mfaAt: null }))).toEqual([403, 'MFA_REQUIRED'])
    expect(await ask(await people.orgMember(org))).toEqual([204, undefined])
    expect(await ask(await people.partnerAdmin(partnerId))).toEqual([204, undefined])
  })

  test('a second factor that is asked to be fresh is, for ten minutes', async () => {
    const at = clock.now().getTime()
    const old = await people.partnerAdmin(partnerId, { mfaAt: new Date(at - 11 * 60_000) })
    const never = await people.partnerAdmin(partnerId, { mfaAt: null })
    const fresh = await people.partnerAdmin(partnerId, { mfaAt: new Date(at - 9 * 60_000) })
    for (const stale of [old, never]) {
      expect((await request('POST /things/fresh', stale)).body.error.code).toBe('MFA_REQUIRED')
    }
    expect((await request('POST /things/fresh', fresh)).status).toBe(204)
  })

  test.each<[string, (person: Person) => PromiseLike<unknown>]>([
    ['is disabled', (p) => t.owner`update users set status = 'disabled' where id = ${p.userId}`],
    ['logs out', (p) => t.owner`update users set auth_epoch = auth_epoch + 1 where id = ${p.userId}`],
    [
      'loses the login',
      (p) => t.owner`update refresh_families set revoked_at = now() where id = ${p.sessionId}`,
    ],
  ])(
    'a token is dead when its user %s: at once when told, else within two seconds',
    async (_what, revoke) => {
      const [told, untold] = [await people.partnerAdmin(partnerId), await people.partnerAdmin(partnerId)]
      for (const person of [told, untold]) expect((await request('GET /things', person)).status).toBe(200)
      const tokens = { told: await told.token(), untold: await untold.token() }
      await revoke(told)
      await revoke(untold)
      await t.core.ports.callers.changed(told.userId)
      const as = (token: string) =>
        request('GET /things', null, { headers: { authorization: `Bearer ${token}` } })
      expect((await as(tokens.told)).status).toBe(401)
      await sleep(2_050)
      expect((await as(tokens.untold)).status).toBe(401)
    },
  )

  test('a permission that is taken away is gone within two seconds', async () => {
    const person = await people.partnerAdmin(partnerId)
    expect((await request('GET /things', person)).status).toBe(200)
    await t.owner`delete from role_permissions where role_id = (select role_id from partner_memberships where user_id = ${person.userId})`
    await sleep(2_050)
    expect((await request('GET /things', person)).status).toBe(403)
  })

  test('a token ends, whatever is remembered of it', async () => {
    const token = await admin.token()
    const as = () => request('GET /things', null, { headers: { authorization: `Bearer ${token}` } })
    expect((await as()).status).toBe(200)
    clock.advance(15 * 60_000 + 6_000)
    expect((await as()).status).toBe(401)
    expect((await request('GET /things', admin)).status).toBe(200)
  })
})
