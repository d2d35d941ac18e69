import { list, route } from '../../../../kernel/route.ts'
import { findOrganization, listOrganizations } from './queries.ts'
import { CreateOrganization, Organization, OrganizationFilter } from './schema.ts'
import { createOrganization } from './service.ts'

export default [
  list('GET /orgs/organizations', {
    summary: 'List organizations in scope',
    can: 'organizations:read',
    filter: OrganizationFilter,
    item: Organization,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listOrganizations(db, query, page),
  }),
  route('POST /orgs/organizations', {
    summary: 'Create an organization; needs partner level with access to all organizations',
    can: 'organizations:write',
    audit: 'organization.create',
    status: 201,
    body: CreateOrganization,
    returns: Organization,
    run: createOrganization,
  }),
  route('GET /orgs/organizations/:id', {
    summary: 'One organization',
    can: 'organizations:read',
    returns: Organization,
    run: ({ db, params }) => findOrganization(db, params.id),
  }),
]
