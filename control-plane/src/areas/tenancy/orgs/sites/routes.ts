import { list, route } from '../../../../kernel/route.ts'
import { findSite, listSites } from './queries.ts'
import { CreateSite, Site, SiteFilter } from './schema.ts'
import { createSite } from './service.ts'

export default [
  list('GET /orgs/sites', {
    summary: 'List sites in scope',
    can: 'sites:read',
    filter: SiteFilter,
    item: Site,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listSites(db, query, page),
  }),
  route('POST /orgs/sites', {
    summary: 'Create a site in an organization',
    can: 'sites:write',
    audit: 'site.create',
    status: 201,
    body: CreateSite,
    returns: Site,
    run: createSite,
  }),
  route('GET /orgs/sites/:id', {
    summary: 'One site',
    can: 'sites:read',
    returns: Site,
    run: ({ db, params }) => findSite(db, params.id),
  }),
]
