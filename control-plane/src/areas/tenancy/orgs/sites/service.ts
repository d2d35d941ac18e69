import { v7 as uuid } from 'uuid'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { partnerOfOrganization } from '../organizations/service.ts'
import { findSiteOwner, insertSite } from './queries.ts'
import type { CreateSite, Site } from './schema.ts'

/**
 * A new site. Undefined (404) for an organization that is another tenant's or nobody's, alike.
 *
 * @throws ApiError 403 for a member limited to some sites, who would not see it; 409 when the name is taken
 */
export async function createSite(
  ctx: Ctx<Record<string, never>, unknown, CreateSite>,
): Promise<Site | undefined> {
  const { db, body } = ctx
  const partnerId = await partnerOfOrganization(db, body.orgId)
  if (partnerId === undefined) return undefined
  if (db.scope.kind === 'tenant' && db.scope.siteIds) {
    throw new ApiError('FORBIDDEN', 'access to all sites of the organization required')
  }
  const site = await insertSite(db, { ...body, id: uuid(), partnerId })
  if (!site) {
    throw new ApiError('ALREADY_EXISTS', 'the organization has a site of this name', {
      details: [{ name: body.name }],
    })
  }
  ctx.audited({ type: 'site', id: site.id, name: site.name, partnerId, orgId: site.orgId })
  return site
}

/** The partner of a site that a body names, or undefined (404) when the caller sees no such site in that organization. */
export const partnerOfSite = async (
  db: Db,
  { orgId, siteId }: { orgId: string; siteId: string },
): Promise<string | undefined> => (await findSiteOwner(db, orgId, siteId))?.partnerId
