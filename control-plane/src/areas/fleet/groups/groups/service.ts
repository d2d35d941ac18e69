import { v7 as uuid } from 'uuid'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { partnerOfOrganization } from '../../../tenancy/orgs/organizations/service.ts'
import {
  countUses,
  deleteGroup,
  findGroup,
  findOwner,
  type GroupOwner,
  holdGroup,
  insertGroup,
  isNameTaken,
  lockGroup,
  renameGroup,
} from './queries.ts'
import type { CreateGroup, Group, UpdateGroup } from './schema.ts'

export type { GroupOwner } from './queries.ts'

/** As the audit log names it. */
export const subjectOf = ({ id, name, partnerId, orgId }: GroupOwner) => ({
  type: 'device_group',
  id,
  name,
  partnerId,
  orgId,
})

const nameTaken = (name: string) =>
  new ApiError('ALREADY_EXISTS', 'the organization has a group of this name', { details: [{ name }] })

/**
 * A new group without devices. Undefined (404) for an organization that is another tenant's or nobody's, alike.
 *
 * @throws ApiError 501 DYNAMIC_GROUPS_UNAVAILABLE; 409 when the name is taken
 */
export async function createGroup(
  ctx: Ctx<Record<string, never>, unknown, CreateGroup>,
): Promise<Group | undefined> {
  const { db, body } = ctx
  const { orgId, name, type } = body
  const partnerId = await partnerOfOrganization(db, orgId)
  if (partnerId === undefined) return undefined
  if (type === 'dynamic')
    throw new ApiError(
      'DYNAMIC_GROUPS_UNAVAILABLE',
      'groups whose members follow from a filter are not there',
    )
  const owner = { id: uuid(), partnerId, orgId, name }
  const group = await insertGroup(db, owner)
  if (!group) throw nameTaken(name)
  ctx.audited(subjectOf(owner))
  return group
}

/** Undefined (404) when the caller may not see it. @throws ApiError 409 when the name is taken */
export async function changeGroup(
  ctx: Ctx<{ id: string }, unknown, UpdateGroup>,
): Promise<Group | undefined> {
  const { db, params, body } = ctx
  const group = await lockGroup(db, params.id)
  if (!group) return undefined
  if (await isNameTaken(db, group, body.name)) throw nameTaken(body.name)
  const after = await renameGroup(db, group.id, body.name)
  ctx.audited({ ...subjectOf({ ...group, name: body.name }), details: { from: group.name } })
  return after
}

/**
 * Gives up a group, its members and its log; the devices stay. Whoever was limited to it sees nothing by it any more: memberships keep
 * the id, so that none of them becomes one without a limit.
 */
export async function endGroup(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params } = ctx
  const group = await lockGroup(db, params.id)
  if (!group) return undefined
  const details = { ...(await countUses(db, group.id)) }
  await deleteGroup(db, group.id)
  ctx.audited({ ...subjectOf(group), details })
  return { success: true }
}

/** The group, which stays there until the transaction ends; undefined (404) when the caller may not see it. */
export const heldGroup = (db: Db, id: string): Promise<GroupOwner | undefined> => holdGroup(db, id)

/** What lists of a group's own ask before they answer; its devices are not counted for it. @throws ApiError 404 */
export async function requireGroup(db: Db, id: string): Promise<void> {
  if (!(await findOwner(db, id))) throw new ApiError('NOT_FOUND', 'not found')
}

/** A group whose members have changed. @throws ApiError 404 */
export async function countedGroup(db: Db, id: string): Promise<Group> {
  const group = await findGroup(db, id)
  if (!group) throw new ApiError('NOT_FOUND', 'not found')
  return group
}
