import { v7 as uuid } from 'uuid'
import { requireAllOrganizations } from '../../../../kernel/access.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError, wrongField } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { awaitEnrollmentsOf } from '../../../access/enrollment-keys/tenant/service.ts'
import { giveBuiltInRoles } from '../../../access/roles/built-in/service.ts'
import { handedDown, lockedFields, withChanges } from '../settings/merge.ts'
import { slugOf, slugTaken } from '../slug.ts'
import { giveUp, turn } from './endings.ts'
import {
  findOrganization,
  findOwner,
  insertOrganization,
  isSlugTaken,
  lockOrganization,
  lockPartnerRoom,
  type OrganizationRow,
  updateOrganization,
} from './queries.ts'
import type { CreateOrganization, Organization, UpdateOrganization } from './schema.ts'

/** An organization as it is shown. */
export const shown = ({ partnerSettings, ...organization }: OrganizationRow): Organization => ({
  ...organization,
  inheritedSettings: handedDown(partnerSettings),
})

/**
 * A new customer of the caller's partner.
 *
 * @throws ApiError 403 unless the caller is at partner level with all organizations, or when the partner has as many as it may;
 * 409 when the slug is taken
 */
export async function createOrganization(
  ctx: Ctx<Record<string, never>, unknown, CreateOrganization>,
): Promise<Organization> {
  const { db, body } = ctx
  const partnerId = requireAllOrganizations(db.scope)
  await requireRoom(db, partnerId)
  const slug = body.slug ?? slugOf(body.name)
  const organization = await insertOrganization(db, { ...body, id: uuid(), partnerId, slug })
  if (!organization) throw slugTaken('organization', slug, body)
  const { id, name } = organization
  await giveBuiltInRoles(db, { partnerId, orgId: id })
  ctx.audited({ type: 'organization', id, name, partnerId, orgId: id })
  return shown(organization)
}

async function requireRoom(db: Db, partnerId: string): Promise<void> {
  const { most, organizations } = await lockPartnerRoom(db, partnerId)
  if (most === null || organizations < most) return
  throw new ApiError(
    'ORGANIZATION_LIMIT_REACHED',
    `the partner has ${organizations} of ${most} organizations`,
    {
      details: [{ currentOrganizations: organizations, maxOrganizations: most }],
    },
  )
}

/** What members of an organization may change of it themselves. */
const itsOwn: ReadonlySet<string> = new Set(['name', 'billingContact', 'settings'])

function requireAllowed(
  { caller, body }: Ctx<unknown, unknown, UpdateOrganization>,
  before: OrganizationRow,
) {
  const isMember = caller.membership?.kind === 'organization'
  const theirs = isMember ? Object.keys(body).filter((field) => !itsOwn.has(field)) : []
  if (theirs.length > 0) {
    throw new ApiError('FORBIDDEN', `the partner decides on ${theirs.join(', ')}`, {
      details: theirs.map((field) => ({ field })),
    })
  }
  const fields = lockedFields(body.settings ?? {}, before.partnerSettings)
  if (fields.length > 0) {
    throw new ApiError('SETTING_LOCKED', `the partner has set ${fields.join(', ')}`, {
      details: [{ fields }],
    })
  }
}

function requireOrder({ contractStart, contractEnd }: Pick<Organization, 'contractStart' | 'contractEnd'>) {
  if (!contractStart || !contractEnd || contractStart <= contractEnd) return
  throw wrongField('contractEnd', 'must not be before contractStart')
}

const isUsable = ({ status }: Pick<Organization, 'status'>) => status === 'active' || status === 'trial'

/**
 * Undefined (404) when the caller may not see it. A suspended organization's users are logged out and its devices turned out, until
 * it goes on.
 *
 * @throws ApiError 403 FORBIDDEN for a member's change of what is the partner's, SETTING_LOCKED; 409 when the slug is taken
 */
export async function changeOrganization(
  ctx: Ctx<{ id: string }, unknown, UpdateOrganization>,
): Promise<Organization | undefined> {
  const { db, params, body } = ctx
  if (body.status !== undefined) await awaitEnrollmentsOf(db, { orgId: params.id })
  const before = await lockOrganization(db, params.id)
  if (!before) return undefined
  requireAllowed(ctx, before)
  if (body.slug !== undefined && (await isSlugTaken(db, before, body.slug))) {
    throw slugTaken('organization', body.slug, body)
  }
  const wanted = withChanges(before, body)
  requireOrder(wanted)
  const after = await updateOrganization(db, wanted)
  if (!after) throw new Error(`organization ${before.id} vanished while its row was locked`)
  const { id, partnerId, name } = after
  const turned = await turn(ctx, { partnerId, orgId: id }, isUsable(before), isUsable(after))
  ctx.audited({ type: 'organization', id, name, partnerId, orgId: id, details: { ...body, ...turned } })
  return shown(after)
}

/**
 * Gives up an organization and all that is its; its rows stay. Undefined (404) when the caller may not see it.
 *
 * @throws ApiError 403 unless the caller is at partner level with all organizations
 */
export async function endOrganization(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params } = ctx
  const organization = await findOrganization(db, params.id)
  if (!organization) return undefined
  requireAllOrganizations(db.scope)
  const { id, partnerId, name } = organization
  const details = await giveUp(ctx, { partnerId, orgId: id })
  if (!details) return undefined
  ctx.audited({ type: 'organization', id, name, partnerId, orgId: id, details })
  return { success: true }
}

/** The partner of an organization that a body names, or undefined (404) when the caller sees none such. */
export const partnerOfOrganization = async (db: Db, orgId: string): Promise<string | undefined> =>
  (await findOwner(db, orgId))?.partnerId
