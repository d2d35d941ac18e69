import { v7 as uuid } from 'uuid'
import { expect, test } from 'vitest'
import { accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { linkTokenOf } from '../../../../../test/harness/mails.ts'
import { inTransaction } from '../../../../kernel/db.ts'
import { giveBuiltInRoles } from '../../roles/built-in/service.ts'

const t = await testApp()
const { logIn, nextAddress } = accountsOf(t)
const password = 'turquoise walrus keeps time'
let count = 0

/** Somebody registers with another's address, and perhaps a partner; an operator who means its owner invites it. */
async function taken(companyName?: string) {
  const who = { email: `owner.${++count}@example.com`, password }
  const what = companyName ? 'POST /auth/register-partner' : 'POST /auth/register'
  const body = { ...who, name: 'Mallory', ...(companyName && { companyName }) }
  const made = await t.request(what, null, { body, remoteAddress: nextAddress() })
  expect(made.status).toBe(201)
  const [user] = await t.owner<{ id: string }[]>`select id from svc.users where email = ${who.email}`
  const { partnerId } = await t.make.org()
  const admin = await t.people.partnerAdmin(partnerId)
  const roleId = await t.make.role({ partnerId }, ['devices:read'])
  const invited = await t.request('POST /users/invite', admin, {
    body: { email: who.email, name: 'Owner', roleId, orgAccess: 'all' },
  })
  expect([invited.status, invited.body.status]).toEqual([201, 'invited'])
  return { who, userId: user?.id ?? '', partnerId, token: await linkTokenOf(t, who.email) }
}

const accept = (body: Record<string, unknown>) =>
  t.request('POST /auth/accept-invite', null, { body, remoteAddress: nextAddress() })
const placesOf = async (userId: string) =>
  (await t.core.ports.callers.find(userId, Date.now() + 1))?.memberships.map(({ id }) => id)

test('of an account that belongs to nothing the link alone decides: the stranger’s password and factor are over', async () => {
  const { who, userId, partnerId, token } = await taken()
  await t.owner`update svc.users set mfa_method = 'totp', totp_secret = 'sealed' where id = ${userId}`
  const { body: before } = await logIn(who)
  expect(before.error.code).toBe('CONTEXT_REQUIRED')
  const own = 'a longer walrus of their own'
  const accepted = await accept({ token, password: own })
  expect([accepted.status, accepted.body.user, claimsOf(accepted.body.accessToken)['mem']]).toMatchObject([
    200,
    { id: userId, name: 'Owner' },
    { id: partnerId },
  ])
  expect((await logIn(who)).status).toBe(401)
  expect((await logIn({ ...who, password: own })).status).toBe(200)
})

test('what an account founded is its own: the link without its password is not enough, nor the password without the link', async () => {
  const { who, userId, partnerId, token } = await taken('Mallory & Co')
  const [own] = (await placesOf(userId)) ?? []
  expect(await placesOf(userId)).toHaveLength(1)
  expect((await accept({ token, password: 'a longer walrus of their own' })).status).toBe(401)
  expect(claimsOf((await logIn(who)).body.accessToken)['mem']).toMatchObject({ id: own })
  expect((await accept({ token, password })).status).toBe(200)
  expect(await placesOf(userId)).toEqual([own, partnerId])
  const [row] =
    await t.owner`select email_verified_at is not null as proved from svc.users where id = ${userId}`
  expect(row).toEqual({ proved: true })
})

test('whoever registers a partner by the version before has founded it all the same', async () => {
  const [userId, partnerId, at] = [uuid(), uuid(), t.clock.now()]
  const name = `old-${partnerId}`
  await inTransaction(t.core.pools.app, { kind: 'tenant', partnerId, orgs: 'all' }, async (tx) => {
    await tx.one`select register_account(${userId}, ${`${name}@example.com`}, 'Ann', 'hash', ${at})`
    await tx.one`select register_partner(${partnerId}, 'Old', ${name}, ${at})`
    const roleId = await giveBuiltInRoles(tx, { partnerId, orgId: null })
    await tx.run`insert into partner_memberships (partner_id, user_id, role_id, org_access, created_at)
      values (${partnerId}, ${userId}, ${roleId}, 'all', ${at})`
  })
  expect((await t.core.ports.callers.find(userId))?.memberships).toMatchObject([{ id: partnerId }])
})
