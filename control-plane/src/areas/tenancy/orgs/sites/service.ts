import { v7 as uuid } from 'uuid'
import { changed } from '../../../../kernel/changed.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { partnerOfOrganization } from '../organizations/service.ts'
import { revokeEnrollmentKeysOf } from '../../../access/enrollment-keys/tenant/service.ts'
import {
  closeSite,
  countContents,
  findSiteOwner,
  insertSite,
  isNameTaken,
  lockSite,
  updateSite,
} from './queries.ts'
import type { CreateSite, Site, UpdateSite } from './schema.ts'

/**
 * A new site. Undefined (404) for an organization that is another tenant's or nobody's, alike.
 *
 * @throws ApiError 409 when the name is taken
 */
export async function createSite(
  ctx: Ctx<Record<string, never>, unknown, CreateSite>,
): Promise<Site | undefined> {
  const { db, body } = ctx
  const partnerId = await partnerOfOrganization(db, body.orgId)
  if (partnerId === undefined) return undefined
  const site = await insertSite(db, { ...body, id: uuid(), partnerId })
  if (!site) throw nameTaken(body.name)
  ctx.audited({ type: 'site', id: site.id, name: site.name, partnerId, orgId: site.orgId })
  return site
}

const nameTaken = (name: string) =>
  new ApiError('ALREADY_EXISTS', 'the organization has a site of this name', { details: [{ name }] })

/** Undefined (404) when the caller may not see it. @throws ApiError 409 when the name is taken */
export async function changeSite(ctx: Ctx<{ id: string }, unknown, UpdateSite>): Promise<Site | undefined> {
  const { db, params, body } = ctx
  const site = await lockSite(db, params.id)
  if (!site) return undefined
  if (body.name !== undefined && (await isNameTaken(db, site, body.name))) throw nameTaken(body.name)
  const { id, partnerId, orgId } = site
  const after = await updateSite(db, changed<Site>(site, body))
  ctx.audited({ type: 'site', id, name: body.name ?? site.name, partnerId, orgId, details: { ...body } })
  return after
}

/**
 * Gives up a site where nothing is any more. Enrollment keys that do not work are revoked with it: none is to work again.
 *
 * @throws ApiError 409 SITE_NOT_EMPTY with counts
 */
export async function endSite(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params } = ctx
  const site = await lockSite(db, params.id)
  if (!site) return undefined
  const { id, name, partnerId, orgId } = site
  const contents = await countContents(db, id)
  if (contents && contents.devices + contents.enrollmentKeys > 0) {
    throw new ApiError('SITE_NOT_EMPTY', 'the site is in use', { details: [{ ...contents }] })
  }
  await revokeEnrollmentKeysOf(db, { partnerId, orgId, siteId: id })
  await closeSite(db, id)
  ctx.audited({ type: 'site', id, name, partnerId, orgId })
  return { success: true }
}

/** The partner of a site that a body names, or undefined (404) when the caller sees no such site in that organization. */
export const partnerOfSite = async (
  db: Db,
  { orgId, siteId }: { orgId: string; siteId: string },
): Promise<string | undefined> => (await findSiteOwner(db, orgId, siteId))?.partnerId
