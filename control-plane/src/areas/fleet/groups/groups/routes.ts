import { Done } from '../../../../kernel/envelope.ts'
import { list, route } from '../../../../kernel/route.ts'
import { findGroup, listGroups } from './queries.ts'
import { CreateGroup, Group, GroupFilter, UpdateGroup } from './schema.ts'
import { changeGroup, createGroup, endGroup } from './service.ts'

export default [
  list('GET /groups', {
    summary: 'List device groups in scope',
    can: 'devices:read',
    filter: GroupFilter,
    item: Group,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listGroups(db, query, page),
  }),
  route('POST /groups', {
    summary: 'Create a static device group in an organization',
    can: 'devices:write',
    fullAccess: 'organization',
    audit: 'device_group.create',
    status: 201,
    body: CreateGroup,
    returns: Group,
    run: createGroup,
  }),
  route('GET /groups/:id', {
    summary: 'One device group',
    can: 'devices:read',
    returns: Group,
    run: ({ db, params }) => findGroup(db, params.id),
  }),
  route('PATCH /groups/:id', {
    summary: 'Rename a device group',
    can: 'devices:write',
    fullAccess: 'organization',
    audit: 'device_group.update',
    body: UpdateGroup,
    returns: Group,
    run: changeGroup,
  }),
  route('DELETE /groups/:id', {
    summary: 'Give up a device group; its devices stay, and whoever was limited to it sees nothing by it',
    can: 'devices:write',
    fullAccess: 'organization',
    audit: 'device_group.delete',
    returns: Done,
    run: endGroup,
  }),
]
