import { v7 as uuid } from 'uuid'
import { requireAllOrganizations } from '../../../../kernel/access.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { awaitEnrollmentsOf } from '../../../access/enrollment-keys/tenant/service.ts'
import { giveBuiltInRoles } from '../../../access/roles/built-in/service.ts'
import { giveUp, turn } from '../organizations/endings.ts'
import { merge, withChanges } from '../settings/merge.ts'
import { slugOf, slugTaken } from '../slug.ts'
import {
  closePartner,
  findOwnPartner,
  findPartner,
  insertPartner,
  isSlugTaken,
  lockPartner,
  updatePartner,
} from './queries.ts'
import type { CreatePartner, Partner, UpdateOwnPartner, UpdatePartner } from './schema.ts'

/** The partner that the caller is a user of; who is a member of an organization has none (404). */
export async function ownPartner({ db, caller }: Ctx): Promise<Partner | undefined> {
  const { membership } = caller
  return membership?.kind === 'partner' && !caller.key?.orgId ? findOwnPartner(db, membership.id) : undefined
}

/**
 * What a partner says of itself, and for all of its organizations. Undefined (404) for members of an organization.
 *
 * @throws ApiError 403 for who sees only some of its organizations
 */
export async function changeOwnPartner(
  ctx: Ctx<Record<string, never>, unknown, UpdateOwnPartner>,
): Promise<Partner | undefined> {
  const { db, body, caller } = ctx
  const { membership } = caller
  if (membership?.kind !== 'partner') return undefined
  requireAllOrganizations(db.scope)
  const before = await lockPartner(db, membership.id)
  if (!before) return undefined
  const after = await updatePartner(db, withChanges(before, body))
  ctx.audited({
    type: 'partner',
    id: before.id,
    name: after?.name ?? before.name,
    partnerId: before.id,
    details: { ...body },
  })
  return after
}

/**
 * A new partner with the roles that one starts with, by the platform's administrator.
 *
 * @throws ApiError 409 when the slug is taken
 */
export async function createPartner(
  ctx: Ctx<Record<string, never>, unknown, CreatePartner>,
): Promise<Partner> {
  const { db, body } = ctx
  const slug = body.slug ?? slugOf(body.name)
  const settings = merge({}, body.settings)
  const partner = await insertPartner(db, { ...body, settings, id: uuid(), slug })
  if (!partner) throw slugTaken('partner', slug, body)
  await giveBuiltInRoles(db, { partnerId: partner.id, orgId: null })
  ctx.audited({ type: 'partner', id: partner.id, name: partner.name })
  return partner
}

const isUsable = ({ status }: Partner) => status === 'active' || status === 'pending'

/**
 * Undefined (404): no such partner. One that is suspended is out with all of its users and devices, until it goes on.
 *
 * @throws ApiError 409 when the slug is taken
 */
export async function changePartner(
  ctx: Ctx<{ id: string }, unknown, UpdatePartner>,
): Promise<Partner | undefined> {
  const { db, params, body } = ctx
  if (body.status !== undefined) await awaitEnrollmentsOf(db, { partnerId: params.id })
  const before = await lockPartner(db, params.id)
  if (!before) return undefined
  if (body.slug !== undefined && (await isSlugTaken(db, before.id, body.slug))) {
    throw slugTaken('partner', body.slug, body)
  }
  const after = await updatePartner(db, withChanges(before, body))
  if (!after) throw new Error(`partner ${before.id} vanished while its row was locked`)
  const turned = await turn(ctx, { partnerId: after.id }, isUsable(before), isUsable(after))
  ctx.audited({ type: 'partner', id: after.id, name: after.name, details: { ...body, ...turned } })
  return after
}

/** Gives up a partner with all of its organizations; rows stay. Undefined (404): no such partner. */
export async function endPartner(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params } = ctx
  const partner = await findPartner(db, params.id)
  if (!partner) return undefined
  const details = await giveUp(ctx, { partnerId: partner.id })
  // Last, in the order in which an enrollment takes its locks. Another may have done all this meanwhile.
  if (!details || (await closePartner(db, partner.id)) === 0) return undefined
  ctx.audited({ type: 'partner', id: partner.id, name: partner.name, details })
  return { success: true }
}
