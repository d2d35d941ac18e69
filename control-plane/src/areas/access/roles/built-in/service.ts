import { v7 as uuid } from 'uuid'
import type { Db } from '../../../../kernel/tenancy.ts'
import { insertBuiltIn } from './queries.ts'
import { type BuiltIn, builtInRoles } from './roles.ts'

/**
 * Gives a new partner, or a new organization of one, the roles that it starts with. Call once, in the transaction that makes it.
 *
 * @param db of the API in a scope that covers the new tenant, or of background work
 * @returns the id of its administrators' role
 */
export async function giveBuiltInRoles(
  db: Db,
  owner: { partnerId: string; orgId: string | null },
): Promise<string> {
  const roles: readonly BuiltIn[] = builtInRoles[owner.orgId === null ? 'partner' : 'organization']
  const made = roles.map((role) => ({ ...role, ...owner, id: uuid(), forceMfa: role.forceMfa === true }))
  for (const role of made) await insertBuiltIn(db, role)
  const [administrators] = made
  if (!administrators) throw new Error('there are no built-in roles')
  return administrators.id
}
