import { Done } from '../../../../kernel/envelope.ts'
import { list, route } from '../../../../kernel/route.ts'
import { findSite, listSites } from './queries.ts'
import { CreateSite, Site, SiteFilter, UpdateSite } from './schema.ts'
import { changeSite, createSite, endSite } from './service.ts'

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
    fullAccess: 'organization',
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
  route('PATCH /orgs/sites/:id', {
    summary: 'Change a site',
    can: 'sites:write',
    fullAccess: 'organization',
    audit: 'site.update',
    body: UpdateSite,
    returns: Site,
    run: changeSite,
  }),
  route('DELETE /orgs/sites/:id', {
    summary: 'Give up a site without devices and working enrollment keys',
    can: 'sites:delete',
    fullAccess: 'organization',
    audit: 'site.delete',
    returns: Done,
    run: endSite,
  }),
]
