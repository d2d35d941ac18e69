import type { Ctx } from '../../../../kernel/context.ts'
import type { Page } from '../../../../kernel/page.ts'
import { countedGroup, heldGroup, requireGroup, subjectOf } from '../groups/service.ts'
import { deleteMember, insertMembers, knownDevices, listChanges, listMembers } from './queries.ts'
import type {
  AddDevices,
  DevicesAdded,
  GroupDevice,
  GroupDeviceFilter,
  MembershipChange,
  MembershipLogFilter,
} from './schema.ts'

/** The devices of a group, those that joined last first. @throws ApiError 404 */
export async function memberList(
  { db, params, query }: Ctx<{ id: string }, GroupDeviceFilter>,
  page: Page,
): Promise<GroupDevice[]> {
  const [, devices] = await Promise.all([
    requireGroup(db, params.id),
    listMembers(db, params.id, query, page),
  ])
  return devices
}

/** Who joined and left a group, newest first. @throws ApiError 404 */
export async function changeList(
  { db, params, query }: Ctx<{ id: string }, MembershipLogFilter>,
  page: Page,
): Promise<MembershipChange[]> {
  const [, changes] = await Promise.all([
    requireGroup(db, params.id),
    listChanges(db, params.id, query, page),
  ])
  return changes
}

/** Adds devices to a group; asking twice is no error. Undefined (404) when the caller may not see the group. */
export async function addDevices(
  ctx: Ctx<{ id: string }, unknown, AddDevices>,
): Promise<DevicesAdded | undefined> {
  const { db, params, body } = ctx
  const group = await heldGroup(db, params.id)
  if (!group) return undefined
  const ids = [...new Set(body.deviceIds)]
  const known = new Set((await knownDevices(db, group.orgId, ids)).map(({ id }) => id))
  const joined = new Set((await insertMembers(db, group, [...known])).map(({ deviceId }) => deviceId))
  const added = ids.filter((id) => joined.has(id))
  const skipped = ids.filter((id) => known.has(id) && !joined.has(id))
  const failed = ids
    .filter((id) => !known.has(id))
    .map((deviceId) => ({ deviceId, code: 'NOT_FOUND' as const }))
  const details = { added: added.length, skipped: skipped.length, failed: failed.length }
  ctx.audited({ ...subjectOf(group), details })
  const { deviceCount } = await countedGroup(db, group.id)
  return { added, skipped, failed, deviceCount }
}

/** Takes a device out of a group. Undefined (404) when it is not in it, or the caller may not see one of the two. */
export async function removeDevice(
  ctx: Ctx<{ id: string; deviceId: string }>,
): Promise<{ success: true } | undefined> {
  const { db, params } = ctx
  const group = await heldGroup(db, params.id)
  const removed = group && (await deleteMember(db, group.id, params.deviceId))
  if (!removed) return undefined
  ctx.audited({ ...subjectOf(group), details: { ...removed } })
  return { success: true }
}
