import { Done } from '../../../../kernel/envelope.ts'
import { list, route } from '../../../../kernel/route.ts'
import { findPartner, listPartners } from './queries.ts'
import { CreatePartner, Partner, PartnerFilter, UpdateOwnPartner, UpdatePartner } from './schema.ts'
import { changeOwnPartner, changePartner, createPartner, endPartner, ownPartner } from './service.ts'

export default [
  list('GET /orgs/partners', {
    summary: 'List partners; the platform’s administrator only',
    can: 'platform',
    filter: PartnerFilter,
    item: Partner,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listPartners(db, query, page),
  }),
  route('POST /orgs/partners', {
    summary: 'Create a partner with its built-in roles; the platform’s administrator only',
    can: 'platform',
    audit: 'partner.create',
    status: 201,
    body: CreatePartner,
    returns: Partner,
    run: createPartner,
  }),
  route('GET /orgs/partners/me', {
    summary: 'The partner that the caller is a user of',
    can: 'signed-in',
    returns: Partner,
    run: ownPartner,
  }),
  route('PATCH /orgs/partners/me', {
    summary: 'Change the own partner’s name and settings; needs access to all of its organizations',
    can: 'organizations:write',
    audit: 'partner.update',
    body: UpdateOwnPartner,
    returns: Partner,
    run: changeOwnPartner,
  }),
  route('GET /orgs/partners/:id', {
    summary: 'One partner; the platform’s administrator only',
    can: 'platform',
    returns: Partner,
    run: ({ db, params }) => findPartner(db, params.id),
  }),
  route('PATCH /orgs/partners/:id', {
    summary: 'Change a partner, its state or its limits; the platform’s administrator only',
    can: 'platform',
    audit: 'partner.update',
    body: UpdatePartner,
    returns: Partner,
    run: changePartner,
  }),
  route('DELETE /orgs/partners/:id', {
    summary: 'Give up a partner with all of its organizations; the platform’s administrator only',
    can: 'platform',
    audit: 'partner.delete',
    returns: Done,
    run: endPartner,
  }),
]
