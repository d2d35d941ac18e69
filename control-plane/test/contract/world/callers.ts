import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { permissionCatalogue, type Permission } from '../../../src/kernel/permissions.ts'
import type { Person } from '../../harness/people.ts'
import type { World } from './things.ts'

/** Who makes a request: a person, or whoever holds a bearer token, or nobody. */
export interface Caller {
  person?: Person
  bearer?: string
}

const all = Object.entries(permissionCatalogue).flatMap(([resource, actions]) =>
  actions.map((action) => `${resource}:${action}` as Permission),
)

const as = async (person: Promise<Person>): Promise<Caller> => ({ person: await person })

async function disabled({ people, owner, places }: World): Promise<Caller> {
  const person = await people.partnerAdmin(places.own.partnerId)
  await owner`update svc.users set status = 'disabled' where id = ${person.userId}`
  return { person }
}

/** What a login answers that still wants a second factor. */
async function tempToken({ people, owner, places }: World): Promise<Caller> {
  const { userId } = await people.partnerAdmin(places.own.partnerId)
  const bearer = `svct_${randomBytes(32).toString('base64url')}`
  await owner`
    insert into svc.mfa_challenges (token_hash, user_id, expires_at)
    values (${tokenHash(bearer)}, ${userId}, now() + interval '5 minutes')`
  return { bearer }
}

/** The callers of the matrix by the names of its columns; each call makes a new one. @param permission of the row, if it says one */
export const makeCaller: Record<
  string,
  (world: World, permission: Permission | undefined) => Promise<Caller>
> = {
  anonymous: async () => ({}),
  viewer: ({ people, places }) => as(people.orgViewer(places.own)),
  admin: ({ people, places }) => as(people.orgMember(places.own)),
  selected: ({ people, places }) => as(people.partnerMember(places.own.partnerId, [places.own.orgId])),
  none: ({ people, places }) => as(people.partnerMember(places.own.partnerId, 'none')),
  all: ({ people, places }) => as(people.partnerAdmin(places.own.partnerId)),
  other: ({ people, places }) => as(people.partnerAdmin(places.foreign.partnerId)),
  unenrolled: ({ people, places }) =>
    as(people.partnerAdmin(places.own.partnerId, { forceMfa: true, mfaAt: null })),
  stale: ({ people, places }) => as(people.partnerAdmin(places.own.partnerId, { mfaAt: null })),
  disabled,
  platform: ({ people }) => as(people.platformAdmin()),
  device: async ({ make, places }) => ({ bearer: (await make.device(places.own)).token }),
  temp: tempToken,
  just: ({ people, places }, permission) =>
    as(people.partnerMember(places.own.partnerId, 'all', { permissions: permission ? [permission] : [] })),
  lacking: ({ people, places }, permission) =>
    as(
      people.partnerMember(places.own.partnerId, 'all', {
        permissions: all.filter((other) => other !== permission),
      }),
    ),
}
