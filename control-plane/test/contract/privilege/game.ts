import type { Permission } from '../../../src/kernel/permissions.ts'
import type { TestApp } from '../../harness/app.ts'
import { ceilingOf, rightsOfRole, type RoleRow } from '../../harness/ceiling.ts'
import type { Org } from '../../harness/make.ts'
import type { Person } from '../../harness/people.ts'
import { randomFrom, type Random } from './random.ts'

/** What the game came to. `violations`: what an accepted request did that its maker did not hold, in words. */
export interface Score {
  requests: number
  accepted: Record<string, number>
  ceilings: number
  violations: string[]
}

interface Move {
  name: string
  send: (as: Person) => ReturnType<TestApp['request']>
}

/** user and what they belong to → what they hold there */
type Holdings = Map<string, Set<string>>

const rights: readonly Permission[] = [
  'devices:read',
  'devices:write',
  'scripts:execute',
  'remote:access',
  'audit:export',
]
const managing: readonly Permission[] = ['users:read', 'users:write', 'users:delete', 'users:invite']
const pairs = (some: readonly string[]) =>
  some.map((right) => ({ resource: right.split(':')[0], action: right.split(':')[1] }))

/**
 * People of a partner and one of its organizations, each with some of the rights, do whatever the API lets them to roles and to each
 * other. After each request that is accepted the rows say who holds what: what anybody gained or lost, the maker must have held.
 */
export async function play(t: TestApp, seed: number, requests: number): Promise<Score> {
  const random = randomFrom(seed)
  const org = await t.make.org()
  const people = new Map<string, Person>()
  for (let i = 0; i < 10; i++) {
    const permissions = [...managing, ...random.some(rights)]
    const options = { permissions: i % 5 === 0 ? (['*:*'] as const) : permissions }
    const person = await (i % 2
      ? t.people.orgMember(org, options)
      : t.people.partnerAdmin(org.partnerId, options))
    people.set(person.userId, person)
  }
  const score: Score = { requests: 0, accepted: {}, ceilings: 0, violations: [] }
  let before = await holdings(t, org.partnerId)
  while (score.requests < requests) {
    const maker = random.one([...people.values()])
    const move = await nextMove(t, random, org, [...people.keys()])
    const reply = await move.send(maker)
    score.requests++
    if (reply.status === 403 && reply.body.error.code === 'DELEGATION_CEILING') score.ceilings++
    if (reply.status >= 300) continue
    score.accepted[move.name] = (score.accepted[move.name] ?? 0) + 1
    if (move.name === 'invite') people.set(reply.body.id, await settle(t, reply.body.id, maker))
    const after = await holdings(t, org.partnerId)
    score.violations.push(...judge(move.name, maker, before, after))
    before = after
  }
  return score
}

/** What changed for anybody, and whether the maker held it, wherever the maker belongs to. */
function judge(name: string, maker: Person, before: Holdings, after: Holdings): string[] {
  const held = new Set(
    [...before].filter(([key]) => key.startsWith(maker.userId)).flatMap(([, own]) => [...own]),
  )
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [was, becomes] = [before.get(key) ?? new Set(), after.get(key) ?? new Set()]
    const moved = [...was, ...becomes].filter((right) => was.has(right) !== becomes.has(right))
    const beyond = ceilingOf(held, moved as string[])
    return beyond.length > 0 ? [`${name}: ${key} changed by ${beyond.join(', ')}`] : []
  })
}

/** Read from the rows themselves, by a model that shares no code with the product. */
async function holdings({ owner }: TestApp, partnerId: string): Promise<Holdings> {
  const roles = await owner<RoleRow[]>`
    select r.id, r.parent_role_id, coalesce((select array_agg(p.resource || ':' || p.action)
      from svc.role_permissions p where p.role_id = r.id), '{}') as permissions
    from svc.roles r where r.partner_id = ${partnerId}`
  const members = await owner<{ key: string; roleId: string }[]>`
    select user_id || ' in ' || partner_id as key, role_id from svc.partner_memberships where partner_id = ${partnerId}
    union all
    select user_id || ' in ' || org_id, role_id from svc.organization_memberships where partner_id = ${partnerId}`
  return new Map(members.map(({ key, roleId }) => [key, rightsOfRole(roles, roleId)]))
}

/** Whoever was invited accepts, and plays on as the one who invited them does: a login for the same place. */
async function settle(t: TestApp, userId: string, maker: Person): Promise<Person> {
  const accepted = await t.owner`
    select a.user_id from svc.invitations i, svc.accept_invitation(i.token_hash, null, 'hash', ${t.clock.now()}) a where i.id = ${userId}`
  if (accepted[0]?.['userId'] !== userId) throw new Error('an invitation could not be accepted')
  const sessionId = await t.make.session(userId, { mfaAt: t.clock.now() })
  const [home] = await t.owner<{ partnerId: string; orgId: string | null }[]>`
    select partner_id, org_id from svc.homes_of(${userId}) where place = 1`
  const membership = !home?.orgId
    ? ({ kind: 'partner', id: String(home?.partnerId) } as const)
    : ({ kind: 'organization', id: home.orgId, partnerId: home.partnerId } as const)
  return {
    ...maker,
    userId,
    sessionId,
    token: (claims) => maker.token({ userId, sessionId, membership, ...claims }),
  }
}

/** Any operation on any role and user there is, sensible or not. */
async function nextMove(t: TestApp, random: Random, org: Org, users: readonly string[]): Promise<Move> {
  const roles = await t.owner<
    { id: string }[]
  >`select id from svc.roles where partner_id = ${org.partnerId} order by created_at, id`
  const role = () => random.one(roles).id
  const user = random.one(users)
  const name = () => `Role ${random.whole(1e9)}`
  const some = () => pairs(random.chance(0.08) ? ['*:*'] : random.some([...rights, ...managing]))
  const parent = () => (random.chance(0.5) ? role() : null)
  const body = () => ({ name: name(), permissions: some(), parentRoleId: parent() })
  const moves: Record<string, () => Parameters<TestApp['request']>> = {
    create: () => ['POST /roles', null, { body: body() }],
    give: () => [`PATCH /roles/${role()}`, null, { body: { permissions: some() } }],
    reparent: () => [`PATCH /roles/${role()}`, null, { body: { parentRoleId: parent() } }],
    clone: () => [`POST /roles/${role()}/clone`, null, { body: { name: name() } }],
    drop: () => [`DELETE /roles/${role()}`],
    assign: () => [`POST /users/${user}/role`, null, { body: { roleId: role() } }],
    invite: () => ['POST /users/invite', null, { body: invitation(random, role()) }],
    remove: () => [`DELETE /users/${user}`],
    rename: () => [`PATCH /users/${user}`, null, { body: { name: name() } }],
  }
  // Somebody must be left to play with.
  const usual = [
    'create',
    'give',
    'give',
    'reparent',
    'reparent',
    'clone',
    'assign',
    'assign',
    'assign',
    'invite',
  ]
  const kind = random.chance(0.06) ? random.one(['drop', 'remove', 'rename']) : random.one(usual)
  const [what, , more] = moves[kind]?.() ?? []
  return { name: kind, send: (as) => t.request(what as 'GET /', as, more) }
}

const invitation = (random: Random, roleId: string) => ({
  email: `p${random.whole(1e9)}@example.com`,
  name: 'Player',
  roleId,
  ...(random.chance(0.5) && { orgAccess: 'all' }),
})
