import { v7 as uuid } from 'uuid'
import { requireWithin } from '../../../kernel/ceiling.ts'
import { changed } from '../../../kernel/changed.ts'
import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import { everything } from '../../../kernel/permissions.ts'
import { type Right, rightOf } from '../../../kernel/rights.ts'
import { atStake, demandsMfa, effectiveRights, type RoleNode } from '../../../kernel/role-tree.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { requireCustom, requireFreeName, requireParent, requireRoom } from './rules.ts'
import {
  countUses,
  deleteRole,
  findOrganization,
  findRole,
  insertRole,
  type NewRole,
  replaceRights,
  updateRole,
} from './queries.ts'
import type { CloneRole, CreateRole, RoleDetail, UpdateRole } from './schema.ts'
import { beginChange, type Owner, readTree, requireAdministrator, treeOfRole } from './tree/service.ts'

type RoleCtx<Body = unknown> = Ctx<{ id: string }, unknown, Body>

/**
 * A custom role of the caller's partner or organization. Undefined (404) for an organization or parent that the caller does not see.
 *
 * @throws ApiError 400 for a parent of another owner, 403 for rights that the caller does not hold, 409 when the name is taken
 */
export async function createRole(
  ctx: Ctx<Record<string, never>, unknown, CreateRole>,
): Promise<RoleDetail | undefined> {
  const { db, body, caller } = ctx
  await beginChange(db)
  const owner = await ownerFor(db, body.orgId)
  if (!owner) return undefined
  const tree = await readTree(db, owner)
  const { name, parentRoleId, forceMfa } = body
  if (!(await requireParent(db, tree, undefined, parentRoleId))) return undefined
  requireRoom(tree)
  requireFreeName(tree, undefined, name)
  const role = { id: uuid(), name, parentRoleId, forceMfa, rights: rightsOf(body.permissions) }
  requireWithin(caller, effectiveRights(new Map(tree).set(role.id, role), role.id), 'the role')
  return insert(ctx, { ...role, ...owner, description: body.description })
}

/**
 * Changes what a custom role is called, gives, or inherits. Undefined (404) for a role or parent that the caller does not see.
 *
 * @throws ApiError 400 for a built-in role and for a parent that is below it, 403 when the role, or one below it whose rights change,
 *   gives more than the caller holds, before or after; 409 when the name is taken or no administrator would be left
 */
export async function changeRole(ctx: RoleCtx<UpdateRole>): Promise<RoleDetail | undefined> {
  const { db, body, caller, params, ports } = ctx
  const partnerId = await beginChange(db)
  const [found, place] = [await findRole(db, params.id), await treeOfRole(db, params.id)]
  const node = place?.tree.get(params.id)
  if (!found || !place || !node) return undefined
  requireCustom(found)
  const { permissions, description = found.description, ...rest } = body
  const after = changed<RoleNode>(node, { ...rest, rights: permissions && rightsOf(permissions) })
  if (!(await requireParent(db, place.tree, node.id, after.parentRoleId))) return undefined
  if (body.name !== undefined) requireFreeName(place.tree, node.id, body.name)
  const stake = atStake(place.tree, after)
  requireWithin(caller, stake, 'the role, or one that inherits from it,')
  await updateRole(db, { ...after, ...place.owner, description }, ports.clock.now())
  if (permissions) await replaceRights(db, { ...after, ...place.owner }, [...after.rights])
  if (place.owner.orgId === null && stake.has(everything)) await requireAdministrator(db, partnerId)
  return changedRole(ctx, params.id, { changed: Object.keys(body) })
}

/**
 * Removes a custom role that nobody has and nothing inherits from.
 *
 * @throws ApiError 404; 400 for a built-in role or one in use, with counts; 403 for one that gives more than the caller holds
 */
export async function removeRole(ctx: RoleCtx): Promise<null> {
  const { db, caller, params } = ctx
  await beginChange(db)
  const [found, place] = [await findRole(db, params.id), await treeOfRole(db, params.id)]
  if (!found || !place) throw new ApiError('NOT_FOUND', 'not found')
  requireCustom(found)
  const uses = await countUses(db, params.id)
  if (uses && uses.userCount + uses.childRoleCount > 0) {
    throw new ApiError('ROLE_IN_USE', 'the role has users, or roles that inherit from it', {
      details: [uses],
    })
  }
  requireWithin(caller, effectiveRights(place.tree, params.id), 'the role')
  await deleteRole(db, params.id)
  ctx.audited(aboutRole(found, {}))
  return null
}

/**
 * A custom role of the same owner that gives all that its source gives, inherited rights included, and inherits nothing itself: what
 * becomes of the source's parents does not reach it. It demands a second factor if the source does.
 *
 * @throws ApiError 403 for a source that gives more than the caller holds, 409 when the name is taken
 */
export async function cloneRole(ctx: RoleCtx<CloneRole>): Promise<RoleDetail | undefined> {
  const { db, body, caller, params } = ctx
  await beginChange(db)
  const [source, place] = [await findRole(db, params.id), await treeOfRole(db, params.id)]
  if (!source || !place) return undefined
  requireRoom(place.tree)
  requireFreeName(place.tree, undefined, body.name)
  const rights = effectiveRights(place.tree, params.id)
  requireWithin(caller, rights, 'the role')
  const forceMfa = demandsMfa(place.tree, params.id)
  const { description } = source
  const role = { id: uuid(), name: body.name, description, parentRoleId: null, forceMfa, ...place.owner }
  return insert(ctx, { ...role, rights }, { source: { id: source.id, name: source.name } })
}

/** Where a new role goes: the caller's own level, or an organization of the caller's partner. */
async function ownerFor(db: Db, orgId: string | undefined): Promise<Owner | undefined> {
  if (db.scope.kind !== 'tenant') throw new Error('roles belong to tenants')
  const { partnerId, orgs } = db.scope
  if (orgId !== undefined) return (await findOrganization(db, orgId)) && { partnerId, orgId }
  return { partnerId, orgId: orgs === 'all' ? null : (orgs[0] ?? null) }
}

async function insert(
  ctx: Ctx<unknown, unknown, unknown>,
  role: NewRole & { rights: Iterable<Right> },
  details: Record<string, unknown> = {},
): Promise<RoleDetail | undefined> {
  await insertRole(ctx.db, role)
  await replaceRights(ctx.db, role, [...role.rights])
  return changedRole(ctx, role.id, details)
}

/** The role as it stands now; the audit row says what it gives. Whoever has it is looked at anew. */
async function changedRole(
  ctx: Ctx<unknown, unknown, unknown>,
  id: string,
  details: Record<string, unknown>,
): Promise<RoleDetail | undefined> {
  const role = await findRole(ctx.db, id)
  if (role) ctx.audited(aboutRole(role, details))
  ctx.after(() => ctx.ports.callers.changed())
  return role
}

const aboutRole = (role: RoleDetail, details: Record<string, unknown>) => ({
  type: 'role',
  id: role.id,
  name: role.name,
  partnerId: role.partnerId,
  ...(role.orgId !== null && { orgId: role.orgId }),
  details: {
    ...details,
    parentRoleId: role.parentRoleId,
    forceMfa: role.forceMfa,
    permissions: role.permissions.map(({ resource, action }) => `${resource}:${action}`),
  },
})

/** Of pairs that the schema has found in the catalogue. */
const rightsOf = (pairs: CreateRole['permissions']): ReadonlySet<Right> =>
  new Set(pairs.flatMap((pair) => rightOf(pair) ?? []))
