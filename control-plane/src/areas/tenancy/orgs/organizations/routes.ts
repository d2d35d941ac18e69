import { Done } from '../../../../kernel/envelope.ts'
import type { Page } from '../../../../kernel/page.ts'
import { list, route } from '../../../../kernel/route.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { findOrganization, listOrganizations } from './queries.ts'
import { CreateOrganization, Organization, OrganizationFilter, UpdateOrganization } from './schema.ts'
import { changeOrganization, createOrganization, endOrganization, shown } from './service.ts'

const all = {
  can: 'organizations:read',
  filter: OrganizationFilter,
  item: Organization,
  newestBy: 'createdAt',
  run: async ({ db, query }: { db: Db; query: OrganizationFilter }, page: Page) =>
    (await listOrganizations(db, query, page)).map(shown),
} as const

export default [
  list('GET /orgs/', {
    ...all,
    summary: 'List organizations in scope; the same as `GET /orgs/organizations`',
  }),
  list('GET /orgs/organizations', { ...all, summary: 'List organizations in scope' }),
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
    run: async ({ db, params }) => {
      const row = await findOrganization(db, params.id)
      return row && shown(row)
    },
  }),
  route('PATCH /orgs/organizations/:id', {
    summary: 'Change an organization, its state or its settings',
    can: 'organizations:write',
    fullAccess: 'organization',
    audit: 'organization.update',
    body: UpdateOrganization,
    returns: Organization,
    run: changeOrganization,
  }),
  route('DELETE /orgs/organizations/:id', {
    summary: 'Give up an organization: its users, keys and devices are refused at once',
    can: 'organizations:delete',
    audit: 'organization.delete',
    returns: Done,
    run: endOrganization,
  }),
]
