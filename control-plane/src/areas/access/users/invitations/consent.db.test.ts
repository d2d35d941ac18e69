import { tokenHash } from '@svc/proto'
import { expect, test } from 'vitest'
import { type Account, accountsOf, claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { linkTokenOf, mailsTo } from '../../../../../test/harness/mails.ts'
import type { Person } from '../../../../../test/harness/people.ts'

const t = await testApp()
const { account, auditOf, code, logIn, logInFully, nextAddress, person, verify } = accountsOf(t)
let count = 0
const chosen = 'seven green bottles hanging'

/** A tenant that invites: its administrator, and a role of the partner's own. */
async function inviter(rights: ('devices:read' | '*:*')[] = ['devices:read']) {
  const { partnerId, orgId } = await t.make.org()
  const admin = await t.people.partnerAdmin(partnerId)
  const roleId = await t.make.role({ partnerId }, rights)
  const invite = (email: string, more: Record<string, unknown> = {}) =>
    t.request('POST /users/invite', admin, {
      body: { email, name: 'As typed', roleId, orgAccess: 'all', ...more },
    })
  return { partnerId, orgId, admin, roleId, invite }
}

const accept = (body: Record<string, unknown>, as?: Person) =>
  t.request('POST /auth/accept-invite', as, { body, remoteAddress: nextAddress() })
const preview = (token: string) =>
  t.request('POST /auth/invite/preview', null, { body: { token }, remoteAddress: nextAddress() })
const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
  status,
  body.error?.code,
]
/** What an account may do, read anew. */
const placesOf = async (userId: string) =>
  (await t.core.ports.callers.find(userId, Date.now() + 1))?.memberships.map(({ id }) => id)
const statusOf = async (as: Person, id: string) => (await t.request(`GET /users/${id}`, as)).status

test('an invited member of somebody else stays theirs: they disable them, and the inviter sees what was typed alone', async () => {
  const home = await account({ permissions: ['devices:read'] })
  const own = await t.people.partnerAdmin(home.partnerId)
  const { admin, invite } = await inviter()
  const invited = await invite(home.email)
  expect(invited.body).toMatchObject({ status: 'invited', name: 'As typed', lastLoginAt: null })
  const disable = (status: string) => t.request(`PATCH /users/${home.userId}`, own, { body: { status } })
  expect((await disable('disabled')).status).toBe(200)
  expect((await disable('active')).status).toBe(200)
  expect(await statusOf(admin, home.userId)).toBe(404)
  const [user] = await t.db.rows<{ name: string }>`select name from users where id = ${home.userId}`
  for (const path of [
    'users',
    'users/roles',
    `users/${invited.body.id}`,
    `roles/${invited.body.roleId}/users`,
  ]) {
    const { status, body } = await t.request(`GET /${path}`, admin)
    expect([path, status, JSON.stringify(body).includes('As typed')]).toEqual([path, 200, true])
    expect(JSON.stringify(body)).not.toContain(String(user?.name))
    expect(JSON.stringify(body)).not.toContain(home.userId)
  }
})

test('until it is accepted it gives nothing and binds nothing', async () => {
  const home = await account({ permissions: ['devices:read'] })
  const homeless = await account({ member: 'none' })
  const { partnerId, invite } = await inviter()
  await t.owner`update svc.partners set settings = '{"security": {"minLength": 99, "requireMfa": true, "allowedMethods": {"sms": false}}}'
    where id = ${partnerId}`
  for (const { email } of [home, homeless]) expect((await invite(email)).status).toBe(201)
  expect(await placesOf(home.userId)).toEqual([home.partnerId])
  expect(await placesOf(homeless.userId)).toEqual([])
  expect(codeOf(await logIn(homeless))).toEqual([403, 'CONTEXT_REQUIRED'])
  const { accessToken } = await logInFully(home)
  expect(claimsOf(accessToken)['mem']).toMatchObject({ id: home.partnerId })
  const [asked] =
    await t.owner`select min_length, require_mfa, sms_allowed from svc.security_of(${home.userId})`
  expect(asked).toEqual({ minLength: 0, requireMfa: false, smsAllowed: true })
})

test('an inviter learns nothing of the address: not by status, answer, lists or audit', async () => {
  const { admin, invite } = await inviter()
  const elsewhere = await inviter()
  const unproved = await account()
  await t.owner`update svc.users set email_verified_at = null where id = ${unproved.userId}`
  const pending = `pending.${++count}@example.com`
  await elsewhere.invite(pending)
  const addresses = [
    `nobody.${++count}@example.com`,
    (await account()).email,
    (await account({ member: 'none', totp: true })).email,
    (await account({ status: 'disabled' })).email,
    unproved.email,
    pending,
  ]
  const seen = new Set<string>()
  for (const email of addresses) {
    const made = await invite(email)
    const { id } = made.body
    const [one, list] = [
      await t.request(`GET /users/${id}`, admin),
      await t.request('GET /users', admin, { query: { search: email } }),
    ]
    const audit =
      await t.owner`select action, resource_name, details from svc.audit_log where resource_id = ${id}`
    const mails = (await mailsTo(t, email)).map(({ kind, to }) => ({ kind, to })).slice(-1)
    const facts = [made.status, made.body, one.body, list.body, audit, mails]
    // Times of now, and what was just made or typed.
    seen.add(
      JSON.stringify(facts)
        .replaceAll(id, 'ID')
        .replaceAll(email, 'EMAIL')
        .replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, 'TIME'),
    )
    expect(Math.abs(new Date(made.body.createdAt).getTime() - t.clock.now().getTime())).toBeLessThan(60_000)
  }
  expect([...seen]).toHaveLength(1)
})

test('an account accepts with its own password: it belongs where it did, and to the inviter too, whose log has it', async () => {
  const home = await account({ permissions: ['devices:read'] })
  const { partnerId, admin, invite } = await inviter()
  const { id: invitationId } = (await invite(home.email)).body
  const token = await linkTokenOf(t, home.email)
  expect((await preview(token)).body).toMatchObject({
    email: home.email,
    name: 'As typed',
    accountKnown: true,
  })
  expect(codeOf(await accept({ token, password: chosen }))).toEqual([401, 'INVALID_CREDENTIALS'])
  expect(codeOf(await accept({ token }))).toEqual([400, 'VALIDATION_ERROR'])
  expect(await placesOf(home.userId)).toEqual([home.partnerId])
  const answer = await accept({ token, password: home.password })
  expect(answer.body).toMatchObject({ mfaRequired: false, user: { id: home.userId } })
  expect(claimsOf(answer.body.accessToken)['mem']).toMatchObject({ id: home.partnerId })
  expect(await placesOf(home.userId)).toEqual([home.partnerId, partnerId])
  expect(await auditOf(home.userId, 'user.invite.accept')).toEqual([
    {
      result: 'success',
      partnerId,
      orgId: null,
      actorId: home.userId,
      details: { invitationId, loggedIn: true },
    },
  ])
  expect(await auditOf(home.userId, 'user.login')).toMatchObject([
    { result: 'failure', partnerId: home.partnerId },
    { result: 'success', partnerId: home.partnerId },
  ])
  expect((await t.request(`GET /users/${home.userId}`, admin)).body).toMatchObject({ status: 'active' })
  expect([await statusOf(admin, invitationId), codeOf(await preview(token))]).toEqual([
    404,
    [400, 'LINK_INVALID'],
  ])
  expect(codeOf(await invite(home.email))).toEqual([409, 'ALREADY_EXISTS'])
})

test('its password is guessed by a link no more often than at a login, and each guess counts at both', async () => {
  const home = await account()
  const { invite } = await inviter()
  await invite(home.email)
  const token = await linkTokenOf(t, home.email)
  const remoteAddress = nextAddress()
  const guess = async (password: string) =>
    (await t.request('POST /auth/accept-invite', null, { body: { token, password }, remoteAddress })).status
  const statuses = []
  for (let times = 0; times < 6; times++) statuses.push(await guess(`wrong ${times}`))
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  expect((await logIn(home, { remoteAddress })).status).toBe(429)
  expect(await guess(home.password)).toBe(429)
  // What succeeded was no guess.
  const other = await account()
  await invite(other.email)
  const body = { token: await linkTokenOf(t, other.email), password: other.password }
  const right = { remoteAddress: nextAddress() }
  expect((await t.request('POST /auth/accept-invite', null, { body, ...right })).status).toBe(200)
  const logins = await Promise.all(Array.from({ length: 5 }, () => logIn(other, right)))
  expect(logins.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
})

test('or with a login of it, and nobody else’s', async () => {
  const [home, other] = [await account(), await account()]
  const { partnerId, invite } = await inviter()
  await invite(home.email)
  const token = await linkTokenOf(t, home.email)
  const loginOf = async (who: Account) => person(who, (await logInFully(who)).accessToken)
  expect(codeOf(await accept({ token }, await loginOf(other)))).toEqual([400, 'VALIDATION_ERROR'])
  const answer = await accept({ token }, await loginOf(home))
  expect(answer.body).toMatchObject({ mfaRequired: false, user: { id: home.userId } })
  expect(answer.body.accessToken).toBeUndefined()
  expect(await placesOf(home.userId)).toEqual([home.partnerId, partnerId])
  expect(await auditOf(home.userId, 'user.invite.accept')).toMatchObject([
    { partnerId, actorId: home.userId },
  ])
})

test('who has a second factor accepts with its code, and belongs to nothing new before', async () => {
  const home = await account({ totp: true })
  const homeless = await account({ totp: true, member: 'none' })
  const { partnerId, admin, invite } = await inviter()
  for (const who of [home, homeless]) {
    await invite(who.email)
    const token = await linkTokenOf(t, who.email)
    const asked = await accept({ token, password: who.password })
    expect(asked.body).toEqual({ mfaRequired: true, tempToken: expect.any(String), mfaMethod: 'totp' })
    expect(await placesOf(who.userId)).not.toContain(partnerId)
    expect(await auditOf(who.userId, 'user.invite.accept')).toEqual([])
    const answer = await verify({ tempToken: asked.body.tempToken, code: await code(who) })
    const first = who === home ? home.partnerId : partnerId
    expect([answer.status, claimsOf(answer.body.accessToken)['mem']]).toMatchObject([200, { id: first }])
    expect(await placesOf(who.userId)).toContain(partnerId)
    expect(await auditOf(who.userId, 'user.invite.accept')).toMatchObject([{ partnerId }])
    expect(await auditOf(who.userId, 'user.login')).toMatchObject([
      { partnerId: first, details: { mfa: true } },
    ])
  }
  const late = await account({ totp: true })
  const { id } = (await invite(late.email)).body
  const asked = await accept({ token: await linkTokenOf(t, late.email), password: late.password })
  await t.request(`DELETE /users/${id}`, admin)
  const refused = await verify({ tempToken: asked.body.tempToken, code: await code(late) })
  expect([codeOf(refused), await placesOf(late.userId)]).toEqual([[400, 'LINK_INVALID'], [late.partnerId]])
})

test('an invitation is withdrawn, sent anew, disabled and enabled by its inviter, whatever the account is', async () => {
  const unproved = await account()
  await t.owner`update svc.users set email_verified_at = null where id = ${unproved.userId}`
  const homes = [await account(), unproved]
  for (const home of homes) {
    const { partnerId, roleId, admin, invite } = await inviter()
    const body = { userId: (await invite(home.email)).body.id }
    const first = await linkTokenOf(t, home.email)
    expect((await t.request('POST /users/resend-invite', admin, { body })).body).toMatchObject({
      status: 'invited',
    })
    const second = await linkTokenOf(t, home.email)
    expect([codeOf(await preview(first)), (await preview(second)).status]).toEqual([
      [400, 'LINK_INVALID'],
      200,
    ])
    t.clock.advance(8 * 86_400_000)
    expect(codeOf(await accept({ token: second, password: home.password }))).toEqual([400, 'LINK_INVALID'])
    // Eight days later the second factor of the first is not fresh any more.
    const again = await t.people.partnerAdmin(partnerId)
    expect((await t.request('POST /users/resend-invite', again, { body })).status).toBe(200)
    const third = await linkTokenOf(t, home.email)
    const set = (status: string) => t.request(`PATCH /users/${body.userId}`, again, { body: { status } })
    expect((await set('disabled')).body.status).toBe('disabled')
    expect(codeOf(await preview(third))).toEqual([400, 'LINK_INVALID'])
    expect(codeOf(await t.request('POST /users/resend-invite', again, { body }))).toEqual([409, 'CONFLICT'])
    expect((await set('active')).body.status).toBe('invited')
    expect(codeOf(await set('active'))).toEqual([409, 'CONFLICT'])
    expect((await preview(third)).status).toBe(200)
    const stranger = await inviter()
    expect((await t.request(`DELETE /users/${body.userId}`, stranger.admin)).status).toBe(404)
    expect((await t.request(`DELETE /users/${body.userId}`, again)).status).toBe(204)
    expect([await statusOf(again, body.userId), codeOf(await preview(third))]).toEqual([
      404,
      [400, 'LINK_INVALID'],
    ])
    expect(await auditOf(body.userId, 'user.remove')).toMatchObject([{ details: { invitation: true } }])
    const anew = { email: home.email, name: 'Anew', roleId, orgAccess: 'all' }
    expect((await t.request('POST /users/invite', again, { body: anew })).status).toBe(201)
  }
})

test('taken back, sent anew or changed while it is accepted, it is gone: nobody is told that there is no member', async () => {
  const { partnerId, admin, roleId, invite } = await inviter()
  const changes = [
    ['DELETE /users/:id', {}],
    ['POST /users/resend-invite', { userId: ':id' }],
    ['PATCH /users/:id', { status: 'disabled' }],
    ['POST /users/:id/role', { roleId }],
  ] as const
  for (const [what, body] of changes) {
    const home = await account()
    const { id } = (await invite(home.email)).body
    const link = tokenHash(await linkTokenOf(t, home.email))
    const mails = (await mailsTo(t, home.email)).length
    // It waits for the row that the acceptance, which is not committed yet, has deleted.
    const asked = await t.owner.begin(async (tx) => {
      await tx`select * from svc.accept_invitation(${link}, ${home.userId}, null, ${t.clock.now()})`
      const sent = what.startsWith('DELETE')
        ? {}
        : { body: JSON.parse(JSON.stringify(body).replace(':id', id)) }
      const asking = t.request(what.replace(':id', id) as typeof what, admin, sent)
      const waiting = () =>
        tx`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      await expect.poll(async () => (await waiting()).length).toBe(1)
      return { asking }
    })
    expect([what, codeOf(await asked.asking)]).toEqual([what, [404, 'NOT_FOUND']])
    expect(await placesOf(home.userId)).toContain(partnerId)
    expect(await auditOf(id, 'user.remove')).toEqual([])
    expect((await mailsTo(t, home.email)).length).toBe(mails)
  }
})

test('an address without an account is invited twice and accepts each by itself', async () => {
  const email = `twice.${++count}@example.com`
  const [one, two] = [await inviter(), await inviter()]
  const { id } = (await one.invite(email)).body
  const first = await linkTokenOf(t, email)
  await two.invite(email)
  const second = await linkTokenOf(t, email)
  expect((await preview(second)).body).toMatchObject({ accountKnown: false })
  const made = await accept({ token: second, password: chosen })
  const userId = made.body.user.id
  expect(await placesOf(userId)).toEqual([two.partnerId])
  expect((await t.request(`GET /users/${id}`, one.admin)).body).toMatchObject({ id, status: 'invited' })
  expect((await accept({ token: first, password: chosen })).status).toBe(200)
  expect(await placesOf(userId)).toEqual([two.partnerId, one.partnerId])
})

test('a role that somebody is invited to is in use; an invitation is given another one', async () => {
  const { partnerId, admin, roleId, invite } = await inviter()
  const { id } = (await invite((await account()).email)).body
  expect((await t.request(`GET /roles/${roleId}`, admin)).body.userCount).toBe(1)
  expect(codeOf(await t.request(`DELETE /roles/${roleId}`, admin))).toEqual([400, 'ROLE_IN_USE'])
  expect(
    (await t.request('GET /users', admin, { query: { roleId, status: 'invited' } })).body.data,
  ).toMatchObject([{ id }])
  const other = await t.make.role({ partnerId }, ['devices:write'])
  const given = await t.request(`POST /users/${id}/role`, admin, { body: { roleId: other } })
  expect([given.status, given.body]).toMatchObject([200, { id, roleId: other, status: 'invited' }])
  expect((await t.request(`DELETE /roles/${roleId}`, admin)).status).toBe(204)
  const weak = await t.people.partnerAdmin(partnerId, {
    permissions: ['users:write', 'users:delete', 'users:invite'],
  })
  for (const [what, more] of [
    [`PATCH /users/${id}`, { body: { name: 'Other' } }],
    [`DELETE /users/${id}`, {}],
    ['POST /users/resend-invite', { body: { userId: id } }],
  ] as const) {
    expect([what, codeOf(await t.request(what, weak, more))]).toEqual([what, [403, 'DELEGATION_CEILING']])
  }
})

test('who was disabled and removed is invited again, here or elsewhere, as one that never was; who was disabled alone is not', async () => {
  const [here, elsewhere] = [await inviter(), await inviter()]
  const home = await account({ partnerId: here.partnerId, permissions: ['devices:read'], totp: true })
  expect(
    (await t.request(`PATCH /users/${home.userId}`, here.admin, { body: { status: 'disabled' } })).status,
  ).toBe(200)
  await elsewhere.invite(home.email)
  const early = await linkTokenOf(t, home.email)
  expect(codeOf(await accept({ token: early, password: chosen }))).toEqual([400, 'LINK_INVALID'])
  expect((await t.request(`DELETE /users/${home.userId}`, here.admin)).status).toBe(204)
  expect((await preview(early)).body).toMatchObject({ accountKnown: false })
  await here.invite(home.email)
  const answer = await accept({ token: await linkTokenOf(t, home.email), password: chosen })
  expect(answer.body).toMatchObject({ mfaRequired: false, user: { id: home.userId, name: 'As typed' } })
  expect(await placesOf(home.userId)).toEqual([here.partnerId])
  expect((await logIn(home)).status).toBe(401)
  expect(codeOf(await accept({ token: early, password: home.password }))).toEqual([
    401,
    'INVALID_CREDENTIALS',
  ])
  expect((await accept({ token: early, password: chosen })).status).toBe(200)
})

test('an invitation is nobody: it is no administrator who remains, and no access review has it', async () => {
  const { partnerId, admin, roleId, invite } = await inviter(['*:*'])
  expect((await invite((await account()).email)).status).toBe(201)
  const asker = await t.people.partnerAdmin(partnerId)
  const review = await t.request('POST /access-reviews', asker, { body: { name: 'All' } })
  const { body } = await t.request(`GET /access-reviews/${review.body.id}`, asker)
  const reviewed = body.items.map((item: { userId: string }) => item.userId)
  expect(reviewed.toSorted()).toEqual([admin.userId, asker.userId].toSorted())
  // Their rights are known for a moment longer than they have them, as where the bus is away.
  const viewer = await t.make.role({ partnerId }, [])
  await t.owner`update svc.partner_memberships set role_id = ${viewer} where user_id = ${asker.userId}`
  const remove = () => t.request(`DELETE /users/${admin.userId}`, asker)
  expect(codeOf(await remove())).toEqual([409, 'LAST_ADMINISTRATOR'])
  const { id } = await t.make.user()
  await t.make.partnerMember({ userId: id, partnerId, roleId })
  expect((await remove()).status).toBe(204)
})
