import type { Ctx } from '../../../kernel/context.ts'
import { wrongField } from '../../../kernel/errors.ts'
import { partnerOfOrganization } from '../../tenancy/orgs/organizations/service.ts'

/** Where a key belongs and under which membership it is made: `memberOrg` null is the partner's. */
export interface Place {
  partnerId: string
  orgId: string | null
  memberOrg: string | null
}

/**
 * A member of an organization makes keys for it; a partner's user for one that they see, or for all that they see where that is the
 * partner's own level too. Undefined (404): no such organization.
 *
 * @throws ApiError VALIDATION_ERROR where an organization must be named
 */
export async function placeOf(
  { db, caller }: Pick<Ctx, 'db' | 'caller'>,
  wanted?: string,
): Promise<Place | undefined> {
  const { scope } = db
  const { membership } = caller
  if (scope.kind !== 'tenant' || !membership) throw new Error('who has a permission has a membership')
  const memberOrg = membership.kind === 'organization' ? membership.id : null
  const orgId = wanted ?? memberOrg
  if (orgId === null) {
    if (scope.orgs !== 'all' && !scope.partnerLevel)
      throw wrongField('orgId', 'is needed: the caller sees selected organizations only')
    return { partnerId: scope.partnerId, orgId, memberOrg }
  }
  const partnerId = await partnerOfOrganization(db, orgId)
  return partnerId === undefined ? undefined : { partnerId, orgId, memberOrg }
}
