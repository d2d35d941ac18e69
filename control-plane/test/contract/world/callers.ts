import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { openKeySet } from '../../../src/adapters/keys.ts'
import { permissionCatalogue, type Permission } from '../../../src/kernel/permissions.ts'
import type { Person } from '../../harness/people.ts'
import { Good } from './good-token.ts'
import type { World } from './things.ts'

/** Who makes a request: a person, or whoever holds a bearer token or an API key, or nobody. */
export interface Caller {
  person?: Person
  bearer?: string
  apiKey?: string
}

const all = Object.entries(permissionCatalogue).flatMap(([resource, actions]) =>
  actions.map((action) => `${resource}:${action}` as Permission),
)

const as = async (person: Promise<Person>): Promise<Caller> => ({ person: await person })

const partnerOf = ({ places }: World) => places.own.partnerId

async function disabled(world: World): Promise<Caller> {
  const person = await world.by.first.people.partnerAdmin(partnerOf(world))
  await world.owner`update svc.users set status = 'disabled' where id = ${person.userId}`
  return { person }
}

/** What a login answers that still wants a second factor. */
async function tempToken({ by, owner, places }: World): Promise<Caller> {
  const { userId } = await by.first.people.partnerAdmin(places.own.partnerId)
  const bearer = `svct_${randomBytes(32).toString('base64url')}`
  await owner`
    insert into svc.mfa_challenges (token_hash, user_id, expires_at)
    values (${tokenHash(bearer)}, ${userId}, now() + interval '5 minutes')`
  return { bearer }
}

/** A good access token of an administrator, but for what it says. */
async function wrongToken(world: World, changes: (nowSeconds: number) => object): Promise<Caller> {
  const person = await world.by.first.people.partnerAdmin(partnerOf(world))
  const good = new Good(await person.token(), openKeySet(world.config.keysDir, 'jwt').current())
  const now = Math.floor(world.clock.now().getTime() / 1_000)
  return { bearer: await good.signed({ ...changes(now) }) }
}

const hour = 3_600

/** The API key of an administrator whose second factor was never checked. */
async function key(
  { by, places, owner }: World,
  scopes: readonly Permission[],
  { orgId, disabled, ...more }: { orgId?: string; disabled?: true; ipAllowlist?: string[] } = {},
): Promise<Caller> {
  const { partnerId } = places.own
  const { userId } = await by.first.people.partnerAdmin(partnerId, { mfaAt: null })
  // What a key makes ends no later than it does itself.
  const expiresAt = new Date(Date.now() + 300 * 86_400_000)
  const options = { scopes, rateLimit: 100_000, expiresAt, ...more }
  const { make } = orgId ? by.own : by.first
  const made = await make.apiKey({ partnerId, userId, ...(orgId && { orgId }) }, options)
  if (disabled) await owner`update svc.users set status = 'disabled' where id = ${userId}`
  return { apiKey: made.key }
}

const only = (permission: Permission | undefined) => (permission ? [permission] : [])
const but = (permission: Permission | undefined) => all.filter((other) => other !== permission)
/** A key has one scope at least. */
const onlyScope = (permission: Permission | undefined) => [permission ?? 'devices:read']

/**
 * The callers of the matrix, as `matrix/principals.ts` describes them; each call makes a new one.
 *
 * @param permission what the operation needs, if it needs one
 */
export const makeCaller: Record<
  string,
  (world: World, permission: Permission | undefined) => Promise<Caller>
> = {
  anonymous: async () => ({}),
  viewer: ({ by, places }) => as(by.own.people.orgViewer(places.own)),
  admin: ({ by, places }) => as(by.own.people.orgMember(places.own)),
  selected: ({ by, places }) => as(by.first.people.partnerMember(places.own.partnerId, [places.own.orgId])),
  none: ({ by, places }) => as(by.first.people.partnerMember(places.own.partnerId, 'none')),
  all: ({ by, places }) => as(by.first.people.partnerAdmin(places.own.partnerId)),
  other: ({ by, places }) => as(by.second.people.partnerAdmin(places.foreign.partnerId)),
  unenrolled: ({ by, places }) =>
    as(by.first.people.partnerAdmin(places.own.partnerId, { forceMfa: true, mfaAt: null })),
  stale: ({ by, places }) => as(by.first.people.partnerAdmin(places.own.partnerId, { mfaAt: null })),
  stray: ({ people }) => as(people.stray()),
  disabled,
  platform: ({ people }) => as(people.platformAdmin()),
  device: async ({ by, places }) => ({ bearer: (await by.own.make.device(places.own)).token }),
  temp: tempToken,
  expired: (world) => wrongToken(world, (now) => ({ iat: now - 2 * hour, exp: now - hour })),
  audience: (world) => wrongToken(world, () => ({ aud: 'http://elsewhere.test/api' })),
  just: ({ by, places }, permission) =>
    as(by.first.people.partnerMember(places.own.partnerId, 'all', { permissions: only(permission) })),
  lacking: ({ by, places }, permission) =>
    as(by.first.people.partnerMember(places.own.partnerId, 'all', { permissions: but(permission) })),
  reader: (world) =>
    key(
      world,
      all.filter((scope) => scope.endsWith(':read')),
    ),
  narrow: (world) => key(world, all, { orgId: world.places.own.orgId }),
  justKey: (world, permission) => key(world, onlyScope(permission)),
  lackingKey: (world, permission) => key(world, but(permission)),
  deadKey: (world) => key(world, all, { disabled: true }),
  farKey: (world) => key(world, all, { ipAllowlist: ['192.0.2.0/24'] }),
}
