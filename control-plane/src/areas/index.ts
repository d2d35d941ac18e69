import type { Route } from '../kernel/route.ts'
import accessReviews from './access/access-reviews/routes.ts'
import apiKeys from './access/api-keys/routes.ts'
import auth from './access/auth/routes.ts'
import permissions from './access/permissions/routes.ts'
import roles from './access/roles/routes.ts'
import sso from './access/sso/routes.ts'
import users from './access/users/routes.ts'
import enrollmentKeys from './access/enrollment-keys/routes.ts'
import fleet from './fleet/index.ts'
import audit from './insight/audit/routes.ts'
import orgs from './tenancy/orgs/routes.ts'

/** The table of contents: every endpoint of the API. A folder of a wing is named after the first segment of its URLs. */
export const routes: readonly Route[] = [
  // access: who may come in
  ...auth,
  ...sso,
  ...apiKeys,
  ...users,
  ...roles,
  ...permissions,
  ...accessReviews,
  ...enrollmentKeys,
  // tenancy: whose things they are
  ...orgs,
  // fleet: the devices
  ...fleet,
  // insight: what was done
  ...audit,
]
