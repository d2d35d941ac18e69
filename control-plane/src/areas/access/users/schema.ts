import { z } from 'zod'
import { Id } from '../../../kernel/id.ts'
import { notEmpty } from '../../../kernel/changed.ts'
import { label } from '../../../kernel/text.ts'
import { Email } from '../auth/login/schema.ts'
import { accountFacts, UserStatus } from '../auth/session/schema.ts'
import { Role } from '../roles/schema.ts'

export const OrgAccess = z.enum(['all', 'selected', 'none'])

/** An account (interface §User). */
export const account = {
  id: z.uuid(),
  email: z.string(),
  name: z.string(),
  status: UserStatus,
  avatarUrl: z.string().nullable(),
  ...accountFacts,
}

/** interface §Memberships: in a partner `orgAccess` and `orgIds`, in an organization `siteIds` and `deviceGroupIds`. */
const membership = {
  partnerId: z.uuid(),
  orgId: z.uuid().nullable().describe('The organization; null is the partner itself'),
  roleId: z.uuid(),
  roleName: z.string(),
  orgAccess: OrgAccess.nullable().describe(
    'In a partner: which of its organizations; null in an organization',
  ),
  orgIds: z.array(z.uuid()).nullable().describe('Those of `selected`'),
  siteIds: z.array(z.uuid()).nullable().describe('In an organization: only these sites; null is all'),
  deviceGroupIds: z.array(z.uuid()).nullable().describe('In an organization: only these groups; null is all'),
}
export const Membership = z
  .object(membership)
  .meta({ id: 'Membership', description: 'What a user belongs to, and as what.' })
export type Membership = z.output<typeof Membership>

/** An account as a tenant sees it (interface §User), with what it is there. */
export const User = z
  .object({
    ...account,
    ...membership,
    memberships: z
      .array(Membership)
      .describe(
        'All that the caller sees of; the first is also told above: the partner’s own level, then the oldest',
      ),
  })
  .meta({ id: 'User', description: 'A user, and what they are in what the caller sees.' })
export type User = z.output<typeof User>

export const UserFilter = z.strictObject({
  status: UserStatus.optional().describe('Only users in this state'),
  roleId: Id.optional().describe('Only users who have this role'),
  orgId: Id.optional().describe('Only members of this organization'),
  search: label(255).optional().describe('Part of name or e-mail, in any case'),
})
export type UserFilter = z.output<typeof UserFilter>

export const RoleWithUsers = Role.extend({
  users: z
    .array(z.object({ id: z.uuid(), email: z.string(), name: z.string(), status: UserStatus }))
    .describe('At most 100, by name; all of them are at `GET /roles/:id/users`'),
}).meta({ id: 'RoleWithUsers', description: 'A role that can be assigned, and who has it.' })
export type RoleWithUsers = z.output<typeof RoleWithUsers>

const ids = z.array(Id).min(1).max(1_000).optional()

/** The role says where to: one of the partner takes `orgAccess`, one of an organization takes `siteIds` and `deviceGroupIds`. */
export const InviteUser = z
  .strictObject({
    email: Email.pipe(z.email('must be an e-mail address').max(255)).describe(
      'At most 255 characters, in any case',
    ),
    name: label(255).describe(
      '1 to 255 characters; an account that is there already keeps its own, once it has accepted',
    ),
    roleId: Id.describe('A role of the partner, or of the organization that they are to belong to'),
    orgAccess: OrgAccess.optional().describe('With a role of the partner: which of its organizations'),
    orgIds: ids.describe('With `selected`: these'),
    siteIds: ids.describe('With a role of an organization: only these sites; left out, all'),
    deviceGroupIds: ids.describe('With a role of an organization: only these device groups; left out, all'),
  })
  .meta({
    id: 'InviteUser',
    examples: [
      {
        email: 'kim@provider.example',
        name: 'Kim',
        roleId: '0195d0a0-7c11-7000-8000-000000000003',
        orgAccess: 'all',
      },
      {
        email: 'lee@customer.example',
        name: 'Lee',
        roleId: '0195d0a0-7c11-7000-8000-000000000004',
        siteIds: ['0195d0a0-7c11-7000-8000-000000000002'],
      },
    ],
  })
export type InviteUser = z.output<typeof InviteUser>

export const InvitedUser = User.extend({
  inviteEmailSent: z.boolean().describe('False where this server sends no mail'),
}).meta({ id: 'InvitedUser', description: 'Who was invited, and whether a link is on its way.' })
export type InvitedUser = z.output<typeof InvitedUser>

export const ResendInvite = z
  .strictObject({ userId: Id.describe('Of somebody who is still `invited`, as the list of users has it') })
  .meta({ id: 'ResendInvite', examples: [{ userId: '0195d0a0-7c11-7000-8000-000000000005' }] })
export type ResendInvite = z.output<typeof ResendInvite>

export const UpdateUser = z
  .strictObject({
    name: label(255).describe('1 to 255 characters'),
    status: z
      .enum(['active', 'disabled'])
      .describe('A disabled user cannot log in, and is logged out everywhere'),
  })
  .partial()
  .refine(...notEmpty)
  .meta({ id: 'UpdateUser', examples: [{ status: 'disabled' }, { name: 'Kim Lee' }] })
export type UpdateUser = z.output<typeof UpdateUser>

export const AssignRole = z
  .strictObject({ roleId: Id.describe('A role of what the user belongs to') })
  .meta({ id: 'AssignRole', examples: [{ roleId: '0195d0a0-7c11-7000-8000-000000000003' }] })
export type AssignRole = z.output<typeof AssignRole>

export const WhichMembership = z.strictObject({
  orgId: Id.optional().describe(
    'Leave this organization; needed where the caller sees several memberships and none at the partner itself',
  ),
})
export type WhichMembership = z.output<typeof WhichMembership>
