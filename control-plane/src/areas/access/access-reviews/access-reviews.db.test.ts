import { expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Org } from '../../../../test/harness/make.ts'
import type { Person } from '../../../../test/harness/people.ts'
import type { Permission } from '../../../kernel/permissions.ts'

const t = await testApp()

interface Item {
  id: string
  userId: string
  orgId: string | null
}
type Answer = Awaited<ReturnType<typeof t.request>>

async function place() {
  const org = await t.make.org()
  const [admin, orgAdmin] = [await t.people.partnerAdmin(org.partnerId), await t.people.orgMember(org)]
  return { ...org, org, admin, orgAdmin }
}

const managing = ['users:read', 'users:write'] as const
const member = (org: Org, ...permissions: Permission[]) => t.people.orgMember(org, { permissions })
const create = (as: Person, body: Record<string, unknown> = {}) =>
  t.request('POST /access-reviews', as, { body: { name: 'Review', ...body } })
const detail = async (as: Person, id: string, query: Record<string, string> = {}) =>
  t.request(`GET /access-reviews/${id}`, as, { query })
const decide = (as: Person, id: string, itemId: string, body: Record<string, unknown>) =>
  t.request(`PATCH /access-reviews/${id}/items/${itemId}`, as, { body })
const complete = (as: Person, id: string) => t.request(`POST /access-reviews/${id}/complete`, as)
const codeOf = ({ status, body }: Answer) => [status, body.error?.code]
const membershipsOf = (userId: string) => t.db.rows<{ orgId: string | null }>`
  select null::uuid as org_id from partner_memberships where user_id = ${userId}
  union all select org_id from organization_memberships where user_id = ${userId}`

/** A new review, and each user's items in it. */
async function reviewed(as: Person, body: Record<string, unknown> = {}) {
  const made = await create(as, body)
  expect(made.status).toBe(201)
  const id: string = made.body.id
  const items: Item[] = (await detail(as, id)).body.items
  const of = (userId: string): string => items.find((item) => item.userId === userId)?.id ?? 'none'
  return { id, items, of }
}

/** Decides on all items: `revoked` for these users, `approved` for the others. Of `as` themselves `other` decides. */
async function decideAll(
  as: Person,
  { id, items }: Awaited<ReturnType<typeof reviewed>>,
  revoked: readonly string[] = [],
  other = as,
) {
  for (const { id: itemId, userId } of items) {
    const decision = revoked.includes(userId) ? 'revoked' : 'approved'
    const answer = await decide(userId === as.userId ? other : as, id, itemId, { decision })
    expect([userId, answer.status]).toEqual([userId, 200])
  }
}

/** The login of a person is for that membership from now on. */
const loginIsFor = (person: Person, { partnerId, orgId }: Org) => t.owner`
  update svc.refresh_families set partner_id = ${partnerId}, org_id = ${orgId} where id = ${person.sessionId}`

test('a review of a partner has every membership of it and its organizations, as they are at that moment', async () => {
  const { partnerId, orgId, org, admin, orgAdmin } = await place()
  const gone = await t.make.org(partnerId)
  const [former, stranger] = [await member(gone), await member(await t.make.org())]
  await t.owner`update svc.organizations set deleted_at = now() where id = ${gone.orgId}`
  const parentRoleId = await t.make.role(org, ['scripts:read'])
  const roleId = await t.make.role(org, ['devices:read'], { parentRoleId, name: 'Heir' })
  const { id: userId, email } = await t.make.user()
  await t.make.orgMember({ ...org, userId, roleId })
  await t.owner`update svc.users set last_login_at = '2026-05-01T10:00:00Z', name = 'aaron' where id = ${userId}`
  const dueDate = new Date(t.clock.now().getTime() + 86_400_000).toISOString()
  const made = await create(admin, { description: 'All of us', dueDate })
  expect([made.status, made.body]).toMatchObject([
    201,
    {
      partnerId,
      orgId: null,
      name: 'Review',
      description: 'All of us',
      status: 'pending',
      reviewerId: admin.userId,
      createdBy: admin.userId,
      dueDate,
      completedAt: null,
      itemCount: 3,
      pendingCount: 3,
    },
  ])
  await t.owner`update svc.roles set name = 'Other' where id = ${roleId}`
  await t.owner`delete from svc.role_permissions where role_id = ${roleId}`
  const shown = await detail(admin, made.body.id)
  const ids = shown.body.items.map((item: Item) => item.userId)
  expect(ids[0]).toBe(userId) // by name, in any case
  expect(ids.toSorted()).toEqual([userId, admin.userId, orgAdmin.userId].toSorted())
  expect(JSON.stringify(shown.body)).not.toMatch(new RegExp(`${former.userId}|${stranger.userId}`))
  expect(shown.body.items[0]).toMatchObject({
    userName: 'aaron',
    userEmail: email,
    lastActiveAt: '2026-05-01T10:00:00.000Z',
    orgId,
    roleId,
    roleName: 'Heir',
    permissions: ['devices:read', 'scripts:read'],
    decision: 'pending',
    notes: null,
    reviewedAt: null,
    reviewedBy: null,
  })
  expect(shown.body.items.find((item: Item) => item.userId === admin.userId)).toMatchObject({
    orgId: null,
    permissions: ['*:*'],
    lastActiveAt: null,
  })
  const audit = await t.db.rows`
    select action, partner_id, org_id, details from audit_log where resource_id = ${made.body.id}`
  expect(audit).toMatchObject([
    { action: 'access_review.create', partnerId, orgId: null, details: { itemCount: 3 } },
  ])
})

test('a review of an organization is its administrator’s, or the partner’s for one that it names', async () => {
  const { partnerId, orgId, admin, orgAdmin } = await place()
  const sibling = await t.make.org(partnerId)
  const other = await member(sibling)
  for (const [as, body] of [
    [orgAdmin, {}],
    [orgAdmin, { orgId }],
    [admin, { orgId }],
  ] as const) {
    const { id, items } = await reviewed(as, body)
    expect(items).toMatchObject([{ userId: orgAdmin.userId, orgId }])
    expect((await detail(orgAdmin, id)).body).toMatchObject({ partnerId, orgId, itemCount: 1 })
    expect((await detail(other, id)).status).toBe(403)
  }
  expect((await create(orgAdmin, { orgId: sibling.orgId })).status).toBe(404)
  const selected = await t.people.partnerMember(partnerId, [orgId])
  const limited = await t.people.orgMember({ partnerId, orgId }, { siteIds: [] })
  for (const as of [selected, limited])
    expect(codeOf(await create(as))).toEqual([403, 'FULL_ACCESS_REQUIRED'])
  expect(codeOf(await create(await t.people.platformAdmin()))).toEqual([403, 'CONTEXT_REQUIRED'])
  for (const dueDate of ['2020-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59']) {
    const late = await create(orgAdmin, { dueDate })
    expect([...codeOf(late), late.body.error.details[0].field]).toEqual([400, 'VALIDATION_ERROR', 'dueDate'])
  }
})

test('the list shows reviews in scope by their state; one of the partner only who sees all of it', async () => {
  const { partnerId, orgId, org, admin, orgAdmin } = await place()
  const [whole, ofOrg] = [await reviewed(admin), await reviewed(orgAdmin)]
  const list = async (as: Person, query: Record<string, string> = {}) =>
    (await t.request('GET /access-reviews', as, { query })).body.data.map(({ id }: { id: string }) => id)
  expect(await list(admin)).toEqual([ofOrg.id, whole.id])
  expect(await list(admin, { orgId })).toEqual([ofOrg.id])
  expect(await list(admin, { reviewerId: admin.userId })).toEqual([whole.id])
  await decide(admin, ofOrg.id, ofOrg.of(orgAdmin.userId), { decision: 'approved' })
  expect(await list(admin, { status: 'in_progress' })).toEqual([ofOrg.id])
  expect(await list(admin, { status: 'completed' })).toEqual([])
  const partly = [
    await t.people.partnerMember(partnerId, 'none'),
    await t.people.partnerMember(partnerId, [orgId]),
    orgAdmin,
  ]
  for (const as of partly) {
    expect((await list(as)).includes(whole.id)).toBe(false)
    expect((await detail(as, whole.id)).status).toBe(404)
    expect((await t.request('GET /access-reviews', as)).body.pagination).toEqual({
      hasMore: false,
      cursor: null,
    })
  }
  expect(await list(partly[0] as Person)).toEqual([])
  expect(await list(partly[1] as Person)).toEqual([ofOrg.id])
  await t.owner`update svc.organizations set deleted_at = now() where id = ${org.orgId}`
  expect(await list(admin)).toEqual([whole.id])
})

test('the reviewer is a member who may manage all that is reviewed', async () => {
  const { partnerId, org, admin, orgAdmin } = await place()
  const [able, unable] = [await member(org, ...managing), await member(org, 'users:read')]
  const limited = await t.people.orgMember(org, { siteIds: [] })
  const [disabled, selected] = [
    await member(org, ...managing),
    await t.people.partnerMember(partnerId, [org.orgId]),
  ]
  await t.owner`update svc.users set status = 'disabled' where id = ${disabled.userId}`
  const heir = await t.make.role(org, [], { parentRoleId: await t.make.role(org, ['users:write']) })
  const inherits = (await t.make.user()).id
  await t.make.orgMember({ ...org, userId: inherits, roleId: heir })
  const outcome = async (as: Person, reviewerId: string) => {
    const { status, body } = await create(as, { orgId: org.orgId, reviewerId })
    return [status, body.reviewerId ?? body.error.details[0]?.field]
  }
  for (const id of [able.userId, inherits]) expect(await outcome(orgAdmin, id)).toEqual([201, id])
  for (const { userId } of [unable, limited, disabled]) {
    expect(await outcome(orgAdmin, userId)).toEqual([400, 'reviewerId'])
  }
  expect(await outcome(admin, selected.userId)).toEqual([400, 'reviewerId'])
  const sibling = await member(await t.make.org(partnerId), ...managing)
  for (const id of [sibling.userId, admin.userId, crypto.randomUUID()]) {
    expect(await outcome(orgAdmin, id)).toEqual([404, undefined])
  }
  expect(await outcome(admin, sibling.userId)).toEqual([404, undefined])
  // All of the partner is more than one organization's manager may manage.
  expect((await create(admin, { reviewerId: able.userId })).status).toBe(404)
})

test('items come in pages by name, and can be had by what was decided', async () => {
  const { org, orgAdmin } = await place()
  for (let i = 0; i < 4; i++) await member(org)
  const { id, items } = await reviewed(orgAdmin)
  const [first] = items.filter(({ userId }) => userId !== orgAdmin.userId)
  await decide(orgAdmin, id, first?.id ?? '', { decision: 'approved' })
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: Answer = await detail(orgAdmin, id, { limit: '2', ...(cursor && { cursor }) })
    expect([body.itemCount, body.pendingCount]).toEqual([5, 4])
    seen.push(...body.items.map((item: Item) => item.id))
    cursor = body.nextCursor
  }
  expect(seen).toEqual(items.map((item) => item.id))
  const decided = await detail(orgAdmin, id, { decision: 'approved' })
  expect(decided.body.items.map((item: Item) => item.id)).toEqual([first?.id])
  const pending = await detail(orgAdmin, id, { decision: 'pending', limit: '4' })
  expect([pending.body.items.length, pending.body.nextCursor]).toEqual([4, null])
  expect((await detail(orgAdmin, id, { limit: '501' })).status).toBe(400)
  const { nextCursor } = (await detail(orgAdmin, id, { limit: '1' })).body
  expect((await detail(orgAdmin, (await reviewed(orgAdmin)).id, { cursor: nextCursor })).status).toBe(400)
})

test('a decision can be changed and taken back, says who made it, and does nothing yet', async () => {
  const { org, orgAdmin } = await place()
  const [user, manager] = [await member(org), await member(org, ...managing)]
  const { id, of } = await reviewed(orgAdmin)
  const item = of(user.userId)
  const statusOf = async () => (await detail(orgAdmin, id)).body.status
  expect((await decide(orgAdmin, id, item, { decision: 'pending', notes: 'Ask Kim' })).body).toMatchObject({
    notes: 'Ask Kim',
    reviewedBy: null,
  })
  expect(await statusOf()).toBe('pending')
  const revoked = await decide(orgAdmin, id, item, { decision: 'revoked' })
  expect(revoked.body).toMatchObject({
    id: item,
    decision: 'revoked',
    notes: 'Ask Kim',
    reviewedBy: orgAdmin.userId,
    reviewedAt: expect.any(String),
  })
  expect([await statusOf(), (await membershipsOf(user.userId)).length]).toEqual(['in_progress', 1])
  const changed = await decide(manager, id, item, { decision: 'approved', notes: null })
  expect(changed.body).toMatchObject({ decision: 'approved', notes: null, reviewedBy: manager.userId })
  const back = await decide(manager, id, item, { decision: 'pending' })
  expect(back.body).toMatchObject({ decision: 'pending', reviewedAt: null, reviewedBy: null })
  expect(await statusOf()).toBe('in_progress')
  const rows = await t.db.rows<{ details: { to: string } }>`
    select details from audit_log where resource_id = ${id} and action = 'access_review.item.update' order by at, id`
  expect(rows.map(({ details }) => details.to)).toEqual(['pending', 'revoked', 'approved', 'pending'])
  for (const body of [{}, { decision: 'kept' }, { decision: 'revoked', notes: 'x'.repeat(2_001) }]) {
    expect((await decide(orgAdmin, id, item, body)).status).toBe(400)
  }
  const elsewhere = await reviewed(orgAdmin)
  expect((await decide(orgAdmin, id, elsewhere.of(user.userId), { decision: 'approved' })).status).toBe(404)
})

test('nobody decides on themselves, not by a key either, or revokes the access of who holds more', async () => {
  const { org, orgId, orgAdmin, admin } = await place()
  const manager = await member(org, ...managing)
  const { id, of } = await reviewed(orgAdmin)
  const own = await decide(orgAdmin, id, of(orgAdmin.userId), { decision: 'approved' })
  expect([...codeOf(own), own.body.error.message]).toEqual([
    403,
    'FORBIDDEN',
    'nobody can decide on their own access',
  ])
  const { key } = await t.make.apiKey(
    { ...org, memberOrg: orgId, userId: orgAdmin.userId },
    { scopes: ['users:write'] },
  )
  const byKey = (itemId: string) =>
    t.request(`PATCH /access-reviews/${id}/items/${itemId}`, null, {
      body: { decision: 'approved' },
      headers: { 'x-api-key': key },
    })
  expect(codeOf(await byKey(of(orgAdmin.userId)))).toEqual([403, 'FORBIDDEN'])
  expect((await byKey(of(manager.userId))).body).toMatchObject({ reviewedBy: orgAdmin.userId })
  const beyond = await decide(manager, id, of(orgAdmin.userId), { decision: 'revoked' })
  expect([...codeOf(beyond), beyond.body.error.details]).toEqual([
    403,
    'DELEGATION_CEILING',
    [{ permission: '*:*' }],
  ])
  expect((await decide(manager, id, of(orgAdmin.userId), { decision: 'approved' })).status).toBe(200)
  // An item of somebody else's is one's own by whatever membership it is.
  await t.make.orgMember({ ...org, userId: admin.userId, roleId: await t.make.role(org, []) })
  const again = await reviewed(admin, { orgId })
  expect(codeOf(await decide(admin, again.id, again.of(admin.userId), { decision: 'revoked' }))).toEqual([
    403,
    'FORBIDDEN',
  ])
})

test('completion waits for every item, then ends what was revoked with its logins, and nothing else', async () => {
  const { org, orgId, partnerId, admin, orgAdmin } = await place()
  const [leaver, stayer] = [await member(org, 'devices:read'), await member(org, 'devices:read')]
  const elsewhere = await t.make.org()
  await t.make.orgMember({ ...elsewhere, userId: leaver.userId, roleId: await t.make.role(elsewhere, []) })
  await loginIsFor(leaver, org)
  const other = await t.make.session(leaver.userId)
  await t.owner`update svc.refresh_families set partner_id = ${elsewhere.partnerId}, org_id = ${elsewhere.orgId} where id = ${other}`
  const review = await reviewed(orgAdmin)
  await decide(orgAdmin, review.id, review.of(leaver.userId), { decision: 'revoked' })
  const early = await complete(orgAdmin, review.id)
  expect([...codeOf(early), early.body.error.details]).toEqual([
    400,
    'REVIEW_ITEMS_PENDING',
    [{ itemCount: 3, approvedCount: 0, revokedCount: 1, pendingCount: 2 }],
  ])
  expect((await t.request('GET /devices', leaver)).status).toBe(200)
  await decideAll(orgAdmin, review, [leaver.userId], admin)
  const done = await complete(orgAdmin, review.id)
  expect([done.status, done.body]).toMatchObject([
    200,
    {
      id: review.id,
      status: 'completed',
      completedBy: orgAdmin.userId,
      completedAt: expect.any(String),
      pendingCount: 0,
      revokedCount: 1,
      alreadyRemovedCount: 0,
    },
  ])
  expect((await t.request('GET /devices', leaver)).status).toBe(401)
  expect((await t.request('GET /devices', stayer)).status).toBe(200)
  expect(await membershipsOf(leaver.userId)).toMatchObject([{ orgId: elsewhere.orgId }])
  const [...families] = await t.owner`
    select id, revoked_reason from svc.refresh_families where user_id = ${leaver.userId} and revoked_at is not null`
  expect(families).toEqual([{ id: leaver.sessionId, revokedReason: 'removed' }])
  const audit = await t.db.rows`
    select action, resource_id, partner_id, org_id, actor_id, details from audit_log
    where result = 'success' and (resource_id = ${leaver.userId} or (resource_id = ${review.id} and action like '%complete'))
    order by action`
  expect(audit).toMatchObject([
    { action: 'access_review.complete', partnerId, orgId, details: { revokedCount: 1, approvedCount: 2 } },
    {
      action: 'user.remove',
      resourceId: leaver.userId,
      partnerId,
      orgId,
      actorId: orgAdmin.userId,
      details: { reviewId: review.id, itemId: review.of(leaver.userId) },
    },
  ])
  const again = await complete(orgAdmin, review.id)
  expect([...codeOf(again), again.body.error.details]).toEqual([
    400,
    'REVIEW_COMPLETED',
    [{ itemCount: 3, approvedCount: 2, revokedCount: 1, pendingCount: 0 }],
  ])
  const late = await decide(orgAdmin, review.id, review.of(stayer.userId), { decision: 'revoked' })
  expect(codeOf(late)).toEqual([400, 'REVIEW_COMPLETED'])
})

test('a review of a partner ends memberships of either kind, each by itself', async () => {
  const { partnerId, org, admin, orgAdmin } = await place()
  const colleague = await t.people.partnerMember(partnerId, 'none', { permissions: ['devices:read'] })
  await t.make.orgMember({ ...org, userId: colleague.userId, roleId: await t.make.role(org, []) })
  const review = await reviewed(admin)
  const items = review.items.filter(({ userId }) => userId === colleague.userId)
  expect(items.map(({ orgId }) => orgId)).toEqual([null, org.orgId])
  const second = await t.people.partnerAdmin(partnerId)
  for (const { id, userId, orgId } of review.items) {
    const decision = userId === colleague.userId && orgId === null ? 'revoked' : 'approved'
    await decide(userId === admin.userId ? second : admin, review.id, id, { decision })
  }
  expect((await complete(admin, review.id)).body).toMatchObject({ revokedCount: 1 })
  expect(await membershipsOf(colleague.userId)).toMatchObject([{ orgId: org.orgId }])
  expect(await membershipsOf(orgAdmin.userId)).toHaveLength(1)
})

test('who was removed meanwhile is no hindrance, and who was invited anew stays', async () => {
  const { org, admin, orgAdmin } = await place()
  const [removed, back, moved] = [await member(org), await member(org), await member(org)]
  const review = await reviewed(orgAdmin)
  await decideAll(orgAdmin, review, [removed.userId, back.userId, moved.userId], admin)
  for (const { userId } of [removed, back]) await t.request(`DELETE /users/${userId}`, orgAdmin)
  await t.make.orgMember({ ...org, userId: back.userId, roleId: await t.make.role(org, []) })
  await t.request(`POST /users/${moved.userId}/role`, orgAdmin, {
    body: { roleId: await t.make.role(org, ['devices:read']) },
  })
  expect((await complete(orgAdmin, review.id)).body).toMatchObject({
    revokedCount: 1,
    alreadyRemovedCount: 2,
  })
  const left = await Promise.all(
    [removed, back, moved].map(async ({ userId }) => (await membershipsOf(userId)).length),
  )
  expect(left).toEqual([0, 1, 0])
})

test('what users hold when it is completed decides: one who holds more, or oneself, stops it all', async () => {
  const { org, admin, orgAdmin } = await place()
  const [manager, weak, raised] = [await member(org, ...managing), await member(org), await member(org)]
  const review = await reviewed(manager)
  await decideAll(manager, review, [weak.userId, raised.userId], orgAdmin)
  const role = await t.make.role(org, [], { parentRoleId: await t.make.role(org, ['devices:write']) })
  await t.owner`update svc.organization_memberships set role_id = ${role} where user_id = ${raised.userId}`
  const refused = await complete(manager, review.id)
  expect([...codeOf(refused), refused.body.error.details]).toEqual([
    403,
    'DELEGATION_CEILING',
    [
      {
        itemId: review.of(raised.userId),
        userId: raised.userId,
        userEmail: raised.email,
        permissions: ['devices:write'],
      },
    ],
  ])
  expect([await membershipsOf(weak.userId), (await detail(manager, review.id)).body.status]).toMatchObject([
    [{ orgId: org.orgId }],
    'in_progress',
  ])
  await decide(orgAdmin, review.id, review.of(manager.userId), { decision: 'revoked' })
  const own = await complete(manager, review.id)
  expect([...codeOf(own), own.body.error.details]).toMatchObject([
    403,
    'FORBIDDEN',
    [{ itemId: review.of(manager.userId) }],
  ])
  expect((await complete(admin, review.id)).body).toMatchObject({ revokedCount: 3 })
})

test('the last administrator stays: nothing is done, and the refusal names the items', async () => {
  const { partnerId, org, admin } = await place()
  const [asker, user] = [await t.people.partnerAdmin(partnerId), await member(org)]
  const review = await reviewed(asker)
  await decideAll(asker, review, [admin.userId, user.userId], admin)
  // Their rights are known for a moment longer than they have them, as where the bus is away.
  expect((await t.request('GET /users', asker)).status).toBe(200)
  await t.owner`
    update svc.partner_memberships set role_id = ${await t.make.role({ partnerId }, [])} where user_id = ${asker.userId}`
  const refused = await complete(asker, review.id)
  expect([...codeOf(refused), refused.body.error.details]).toEqual([
    409,
    'LAST_ADMINISTRATOR',
    [{ itemId: review.of(admin.userId), userId: admin.userId, userEmail: admin.email }],
  ])
  expect(await membershipsOf(user.userId)).toHaveLength(1)
  expect((await detail(admin, review.id)).body).toMatchObject({ status: 'in_progress', completedAt: null })
})

test('one’s own item stays open where nobody else may decide on it, and only there', async () => {
  const { partnerId, admin, orgAdmin } = await place()
  const alone = await reviewed(admin)
  await decide(admin, alone.id, alone.of(orgAdmin.userId), { decision: 'approved' })
  expect((await complete(admin, alone.id)).body).toMatchObject({ status: 'completed', pendingCount: 1 })
  // An organization has its partner for it.
  const ofOrg = await reviewed(orgAdmin)
  expect(codeOf(await complete(orgAdmin, ofOrg.id))).toEqual([400, 'REVIEW_ITEMS_PENDING'])
  await decide(admin, ofOrg.id, ofOrg.of(orgAdmin.userId), { decision: 'approved' })
  expect((await complete(orgAdmin, ofOrg.id)).status).toBe(200)
  await t.people.partnerMember(partnerId, 'all', { permissions: ['users:write'] })
  const two = await reviewed(admin)
  for (const { id, userId } of two.items.filter((item) => item.userId !== admin.userId)) {
    expect([userId, (await decide(admin, two.id, id, { decision: 'approved' })).status]).toEqual([
      userId,
      200,
    ])
  }
  expect(codeOf(await complete(admin, two.id))).toEqual([400, 'REVIEW_ITEMS_PENDING'])
  expect((await detail(admin, two.id)).body.pendingCount).toBe(1)
})

test('of two completions at once one is made, and a user is removed once', async () => {
  const { org, admin, orgAdmin } = await place()
  for (let round = 0; round < 2; round++) {
    const users = [await member(org), await member(org)]
    const review = await reviewed(orgAdmin)
    const ids = users.map(({ userId }) => userId)
    await decideAll(orgAdmin, review, ids, admin)
    const answers = await Promise.all([complete(orgAdmin, review.id), complete(admin, review.id)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
    expect(answers.find(({ status }) => status === 400)?.body.error.code).toBe('REVIEW_COMPLETED')
    expect(answers.find(({ status }) => status === 200)?.body.revokedCount).toBe(2)
    const rows = await t.db
      .rows`select from audit_log where action = 'user.remove' and resource_id = any (${ids})`
    expect(rows).toHaveLength(2)
  }
})

/** Holds back whatever decides on this review or completes it, until both requests wait; then lets them go. */
async function together<T>(reviewId: string, ...asked: (() => Promise<T>)[]): Promise<T[]> {
  const answers: Promise<T>[] = []
  await t.owner.begin(async (tx) => {
    await tx`select from svc.access_reviews where id = ${reviewId} for update`
    for (const ask of asked) {
      answers.push(ask())
      await waiting(answers.length)
    }
  })
  return Promise.all(answers)
}

/** Until so many statements of the API wait for a lock. */
async function waiting(many: number): Promise<void> {
  const [row] = await t.owner`
    select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  if (row?.['n'] >= many) return
  await new Promise((done) => setTimeout(done, 5))
  return waiting(many)
}

test('a decision and a completion at once: whichever comes first holds for the other', async () => {
  const { org, admin, orgAdmin } = await place()
  const outcomes: string[] = []
  for (const decisionFirst of [true, false]) {
    const user = await member(org)
    const review = await reviewed(orgAdmin)
    await decideAll(orgAdmin, review, [], admin)
    const acts = [
      () => decide(orgAdmin, review.id, review.of(user.userId), { decision: 'revoked' }),
      () => complete(admin, review.id),
    ]
    const answers = await together(review.id, ...(decisionFirst ? acts : acts.toReversed()))
    const [decided, completed] = decisionFirst ? answers : answers.toReversed()
    expect(completed?.status).toBe(200)
    const left = (await membershipsOf(user.userId)).length
    outcomes.push(
      `decision ${decided?.status}, revoked ${completed?.body.revokedCount}, memberships left ${left}`,
    )
  }
  expect(outcomes).toEqual([
    'decision 200, revoked 1, memberships left 0',
    'decision 400, revoked 0, memberships left 1',
  ])
})

test('a removal and a completion at once end the membership once', async () => {
  const { org, admin, orgAdmin } = await place()
  for (let round = 0; round < 2; round++) {
    const user = await member(org)
    const review = await reviewed(orgAdmin)
    await decideAll(orgAdmin, review, [user.userId], admin)
    const [removed, completed] = await Promise.all([
      t.request(`DELETE /users/${user.userId}`, orgAdmin),
      complete(admin, review.id),
    ])
    expect(completed.status).toBe(200)
    expect([204, 404]).toContain(removed.status)
    expect(completed.body.revokedCount).toBe(removed.status === 404 ? 1 : 0)
    expect(completed.body.alreadyRemovedCount).toBe(removed.status === 404 ? 0 : 1)
    const rows = await t.db.rows`
      select from audit_log where action = 'user.remove' and result = 'success' and resource_id = ${user.userId}`
    expect([rows.length, (await membershipsOf(user.userId)).length]).toEqual([1, 0])
  }
})

test('a thousand reviews may be open at once, and one has at most 20,000 memberships', async () => {
  const { partnerId, orgId, org, orgAdmin } = await place()
  expect((await create(orgAdmin)).status).toBe(201)
  await t.owner`
    insert into svc.access_reviews (id, partner_id, org_id, name, status, reviewer_id, created_by, item_count, created_at, updated_at)
    select gen_random_uuid(), partner_id, org_id, 'Review ' || n, status, reviewer_id, created_by, 0, created_at, updated_at
    from svc.access_reviews, generate_series(2, 1000) n where org_id = ${orgId}`
  expect(codeOf(await create(orgAdmin))).toEqual([409, 'LIMIT_REACHED'])
  await t.owner`
    update svc.access_reviews set status = 'completed', completed_at = now(), completed_by = ${orgAdmin.userId} where id in (
      select id from svc.access_reviews where org_id = ${orgId} limit 1)`
  const roleId = await t.make.role(org, ['devices:read'])
  await t.owner`
    with made as (
      insert into svc.users (id, email, name, status)
      select gen_random_uuid(), 'x' || n || '.' || ${orgId} || '@example.com', 'Member', 'active' from generate_series(1, 20000) n
      returning id)
    insert into svc.organization_memberships (partner_id, org_id, user_id, role_id)
    select ${partnerId}, ${orgId}, id, ${roleId} from made`
  const refused = await create(orgAdmin)
  expect([...codeOf(refused), refused.body.error.details]).toEqual([409, 'LIMIT_REACHED', [{ most: 20_000 }]])
  await t.owner`
    delete from svc.organization_memberships where org_id = ${orgId} and user_id = (
      select user_id from svc.organization_memberships where role_id = ${roleId} limit 1)`
  expect((await create(orgAdmin)).body).toMatchObject({ itemCount: 20_000 })
})

test('thousands of members are reviewed and removed in one go', async () => {
  const { partnerId, orgId, org, admin, orgAdmin } = await place()
  const many = 2_000
  const roleId = await t.make.role(org, ['devices:read'])
  await t.owner`
    with made as (
      insert into svc.users (id, email, name, status)
      select gen_random_uuid(), 'm' || n || '.' || ${orgId} || '@example.com', 'Member ' || n, 'active' from generate_series(1, ${many}) n
      returning id)
    insert into svc.organization_memberships (partner_id, org_id, user_id, role_id)
    select ${partnerId}, ${orgId}, id, ${roleId} from made`
  // As the database does by itself where tables fill.
  for (const table of ['users', 'organization_memberships']) await t.owner`analyze svc.${t.owner(table)}`
  const made = await create(orgAdmin)
  expect(made.body).toMatchObject({ itemCount: many + 1, pendingCount: many + 1 })
  const id: string = made.body.id
  expect((await detail(orgAdmin, id)).body.items).toHaveLength(100)
  await t.owner`
    update svc.access_review_items set decision = 'revoked', reviewed_at = now(), reviewed_by = ${admin.userId}
    where review_id = ${id} and role_id = ${roleId}`
  const own = (await detail(orgAdmin, id, { decision: 'pending' })).body.items[0].id
  await decide(admin, id, own, { decision: 'approved' })
  expect((await complete(orgAdmin, id)).body).toMatchObject({ revokedCount: many })
  const [row] = await t.owner`
    select (select count(*)::int from svc.organization_memberships where org_id = ${orgId}) as members,
      (select count(*)::int from svc.audit_log where action = 'user.remove' and org_id = ${orgId}) as traces`
  expect(row).toEqual({ members: 1, traces: many })
})
