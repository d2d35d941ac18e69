import { z } from 'zod'
import { Id } from '../../../kernel/id.ts'
import { list, route } from '../../../kernel/route.ts'
import { invite, resendInvite } from './invite/service.ts'
import me from './me/routes.ts'
import {
  AssignRole,
  InvitedUser,
  InviteUser,
  ResendInvite,
  RoleWithUsers,
  UpdateUser,
  User,
  UserFilter,
  WhichMembership,
} from './schema.ts'
import { assignRole, changeUser, oneUser, removeUser, rolesWithUsers, userList } from './service.ts'

const RoleFilter = z.strictObject({ orgId: Id.optional().describe('Only roles of this organization') })

export default [
  ...me,
  list('GET /users', {
    summary: 'List users in scope',
    can: 'users:read',
    filter: UserFilter,
    item: User,
    newestBy: 'createdAt',
    run: userList,
  }),
  list('GET /users/roles', {
    summary: 'Roles that can be assigned in scope, each with its users',
    can: 'users:read',
    filter: RoleFilter,
    item: RoleWithUsers,
    newestBy: 'createdAt',
    run: rolesWithUsers,
  }),
  route('GET /users/:id', {
    summary: 'One user',
    can: 'users:read',
    returns: User,
    run: oneUser,
  }),
  route('POST /users/invite', {
    summary: 'Invite somebody into the partner or into an organization',
    can: 'users:invite',
    fullAccess: true,
    freshMfa: true,
    limit: 'invite',
    audit: 'user.invite',
    status: 201,
    body: InviteUser,
    returns: InvitedUser,
    run: invite,
  }),
  route('POST /users/resend-invite', {
    summary: 'Send a fresh link to a user who is still `invited`; the one before is void',
    can: 'users:invite',
    fullAccess: true,
    limit: 'invite',
    audit: 'user.invite.resend',
    body: ResendInvite,
    returns: InvitedUser,
    run: resendInvite,
  }),
  route('PATCH /users/:id', {
    summary: 'Rename, disable or enable a user',
    can: 'users:write',
    fullAccess: true,
    audit: 'user.update',
    body: UpdateUser,
    returns: User,
    run: changeUser,
  }),
  route('DELETE /users/:id', {
    summary: 'Take a user out of the partner or organization, or an invitation back; the account remains',
    can: 'users:delete',
    fullAccess: true,
    audit: 'user.remove',
    query: WhichMembership,
    run: removeUser,
  }),
  route('POST /users/:id/role', {
    summary: 'Give a user another role',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'user.role.assign',
    body: AssignRole,
    returns: User,
    run: assignRole,
  }),
]
