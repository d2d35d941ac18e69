import { ApiError } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { isThere } from './queries.ts'

/**
 * What figures and exports are asked of is a thing that is named, as in a path: one that is not there has no figures. A list is
 * filtered, and has nothing of it. @throws ApiError 404
 */
export async function requireOrganization(db: Db, orgId: string | undefined): Promise<void> {
  if (orgId !== undefined && !(await isThere(db, orgId))) throw new ApiError('NOT_FOUND', 'not found')
}
