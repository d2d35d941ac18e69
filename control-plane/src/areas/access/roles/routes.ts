import { list, route } from '../../../kernel/route.ts'
import { findRole, listRoles } from './queries.ts'
import { availablePermissions, effectivePermissions, roleUsers } from './reads.ts'
import {
  AvailablePermissions,
  CloneRole,
  CreateRole,
  EffectivePermissions,
  Role,
  RoleDetail,
  RoleFilter,
  RoleUser,
  UpdateRole,
} from './schema.ts'
import { changeRole, cloneRole, createRole, removeRole } from './service.ts'

export default [
  list('GET /roles', {
    summary: 'List built-in and custom roles in scope, with how many users have each',
    can: 'users:read',
    filter: RoleFilter,
    item: Role,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listRoles(db, query, page),
  }),
  route('POST /roles', {
    summary: 'Create a custom role in the caller’s partner or organization',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'role.create',
    status: 201,
    body: CreateRole,
    returns: RoleDetail,
    run: createRole,
  }),
  route('GET /roles/permissions/available', {
    summary: 'The resources and actions that permissions are made of',
    can: 'users:read',
    returns: AvailablePermissions,
    run: availablePermissions,
  }),
  route('GET /roles/:id', {
    summary: 'One role with its own permissions',
    can: 'users:read',
    returns: RoleDetail,
    run: ({ db, params }) => findRole(db, params.id),
  }),
  route('PATCH /roles/:id', {
    summary: 'Change name, description, permissions, parent or second factor of a custom role',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'role.update',
    body: UpdateRole,
    returns: RoleDetail,
    run: changeRole,
  }),
  route('DELETE /roles/:id', {
    summary: 'Delete a custom role that nobody has and nothing inherits from',
    can: 'users:delete',
    fullAccess: true,
    freshMfa: true,
    audit: 'role.delete',
    run: removeRole,
  }),
  route('POST /roles/:id/clone', {
    summary: 'Make a custom role that gives what this one gives, built in or not',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'role.clone',
    status: 201,
    body: CloneRole,
    returns: RoleDetail,
    run: cloneRole,
  }),
  list('GET /roles/:id/users', {
    summary: 'Users who have the role',
    can: 'users:read',
    item: RoleUser,
    newestBy: 'createdAt',
    run: roleUsers,
  }),
  route('GET /roles/:id/effective-permissions', {
    summary: 'All that a role gives, own and inherited, each with the role it comes from',
    can: 'users:read',
    returns: EffectivePermissions,
    run: effectivePermissions,
  }),
]
