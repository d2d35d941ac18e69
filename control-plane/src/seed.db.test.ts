import { tokenHash } from '@svc/proto'
import { generate } from 'otplib'
import { expect, test } from 'vitest'
import { testApp } from '../test/harness/app.ts'
import { totpPlace } from './areas/access/auth/mfa/proof.ts'
import { addEnrollmentKey, seedDemo, setPlatformAdmin } from './seed.ts'

const t = await testApp()
const { db } = t
const { ports } = t.core

test('five starters at once make one demo, and one of them learns its secrets', async () => {
  const demos = await Promise.all(Array.from({ length: 5 }, () => seedDemo(db, ports)))
  expect(new Set(demos.map(({ partnerId }) => partnerId)).size).toBe(1)
  expect(new Set(demos.map(({ userId }) => userId)).size).toBe(1)
  expect(demos.filter(({ secrets }) => secrets)).toHaveLength(1)
  const again = await seedDemo(db, ports)
  expect(again).not.toHaveProperty('secrets')
  expect(again).toMatchObject({ partnerId: demos[0]?.partnerId, email: 'admin@demo.example' })
})

test('its secrets are kept before anybody can see it, and where they cannot be kept there is none', async () => {
  const names = { partnerSlug: 'kept', adminEmail: 'admin@kept.example' }
  const partners = () => db.rows`select from partners where slug = 'kept'`
  const full = () => Promise.reject(new Error('disk full'))
  await expect(seedDemo(db, ports, names, full)).rejects.toThrow('disk full')
  expect(await partners()).toHaveLength(0)

  const kept: unknown[] = []
  const demo = await seedDemo(db, ports, names, async (made) => {
    kept.push(made)
    expect(await partners()).toHaveLength(0)
  })
  expect(kept).toEqual([demo])
  expect(demo.secrets).toBeDefined()
  await seedDemo(db, ports, names, (made) => kept.push(made))
  expect(kept).toHaveLength(1)
})

test('what it shows is what it stored: password, authenticator, enrollment key', async () => {
  const demo = await seedDemo(db, ports, { partnerSlug: 'second', adminEmail: ' Admin@Second.example ' })
  const secrets = demo.secrets
  if (!secrets) throw new Error('not fresh')
  const [user] = await db.rows<Record<string, unknown>>`select * from users where id = ${demo.userId}`
  expect(user?.['email']).toBe('admin@second.example')
  expect(await ports.passwords.verify(user?.['passwordHash'] as string, secrets.password)).toBe(true)
  expect(ports.secrets.open(user?.['totpSecret'] as Buffer, totpPlace(demo.userId)).toString()).toBe(
    secrets.totpSecret,
  )
  expect(user?.['recoveryCodeHashes']).toHaveLength(10)
  const [key] = await db.rows<
    Record<string, unknown>
  >`select * from enrollment_keys where key_hash = ${tokenHash(secrets.enrollmentKey)}`
  expect(key).toMatchObject({
    siteId: demo.siteId,
    orgId: demo.organizationId,
    maxUsage: null,
    usageCount: 0,
  })
  const [role] = await db.rows<Record<string, unknown>>`
    select r.name, r.is_system, r.force_mfa, p.resource || ':' || p.action as permission
    from roles r join role_permissions p on p.role_id = r.id where r.partner_id = ${demo.partnerId}`
  expect(role).toMatchObject({ name: 'Partner Admin', isSystem: true, forceMfa: true, permission: '*:*' })
})

test('a further enrollment key replaces a lost one', async () => {
  const demo = await seedDemo(db, ports)
  const key = await addEnrollmentKey(db, ports, demo, 'second key')
  const [row] = await db.rows<
    Record<string, unknown>
  >`select name, max_usage from enrollment_keys where key_hash = ${tokenHash(key)}`
  expect(row).toMatchObject({ name: 'second key', maxUsage: null })
})

test('a platform administrator is made and unmade by e-mail; an unknown e-mail makes nobody one', async () => {
  const flag = async () =>
    (
      await db.rows<
        Record<string, unknown>
      >`select platform_admin as flag from users where email = 'admin@demo.example'`
    )[0]?.['flag']
  expect(await setPlatformAdmin(db, 'ADMIN@demo.example', true)).toBe(true)
  expect(await flag()).toBe(true)
  expect(await setPlatformAdmin(db, 'admin@demo.example', false)).toBe(true)
  expect(await flag()).toBe(false)
  expect(await setPlatformAdmin(db, 'nobody@demo.example', true)).toBe(false)
})

test('the seeded administrator logs in with password and authenticator, and may do everything', async () => {
  const { email, organizationId, secrets } = await seedDemo(db, ports, {
    partnerSlug: 'third',
    adminEmail: 'a@third.example',
  })
  if (!secrets) throw new Error('not fresh')
  const first = await t.request('POST /auth/login', null, { body: { email, password: secrets.password } })
  expect(first.body).toMatchObject({ mfaRequired: true, mfaMethod: 'totp' })
  const code = await generate({
    secret: secrets.totpSecret,
    epoch: Math.floor(t.clock.now().getTime() / 1_000),
  })
  const second = await t.request('POST /auth/mfa/verify', null, {
    body: { tempToken: first.body.tempToken, code },
  })
  expect(second.status).toBe(200)
  const headers = { authorization: `Bearer ${second.body.accessToken}` }
  const orgs = await t.request('GET /orgs/organizations', null, { headers })
  expect(orgs.body.data).toMatchObject([{ id: organizationId }])
  const keys = await t.request('GET /enrollment-keys', null, { headers })
  expect(keys.body.data).toMatchObject([{ name: 'Demo fleet', state: 'usable', maxUsage: null }])
})
