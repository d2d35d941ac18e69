import { z } from 'zod'
import { Id } from '../../../kernel/id.ts'
import { notEmpty } from '../../../kernel/changed.ts'
import { rightOf } from '../../../kernel/rights.ts'
import { label, text } from '../../../kernel/text.ts'
import { UserStatus } from '../auth/session/schema.ts'

export const RoleScope = z.enum(['partner', 'organization'])

/** A right as answers spell it: in the words of the catalogue. */
export const RolePermission = z
  .object({ resource: z.string(), action: z.string() })
  .meta({ id: 'RolePermission', description: 'One right of a role; `*` and `*` is full access.' })

/** interface §Role. `forceMfa` is the role's own flag; one that a parent has counts too. */
export const Role = z
  .object({
    id: z.uuid(),
    partnerId: z.uuid(),
    orgId: z.uuid().nullable().describe('The organization it belongs to; null is the partner itself'),
    parentRoleId: z.uuid().nullable().describe('The role that it inherits from'),
    scope: RoleScope.describe('What its users belong to'),
    name: z.string(),
    description: z.string().nullable(),
    isSystem: z.boolean().describe('Built in: it can be cloned and not changed'),
    forceMfa: z.boolean().describe('Its users need a TOTP authenticator, and so do those of roles below it'),
    userCount: z.int().describe('Users who have it'),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'Role', description: 'What its users may do, within what they belong to.' })
export type Role = z.output<typeof Role>

export const RoleDetail = Role.extend({
  permissions: z.array(RolePermission).describe('Its own; those of its parents come on top'),
}).meta({ id: 'RoleDetail', description: 'A role with its own permissions.' })
export type RoleDetail = z.output<typeof RoleDetail>

export const RoleFilter = z.strictObject({
  scope: RoleScope.optional().describe('Only roles of this scope'),
  orgId: Id.optional().describe('Only roles of this organization'),
  search: label(100).optional().describe('Part of the name, in any case'),
})
export type RoleFilter = z.output<typeof RoleFilter>

/** One pair of a body; `view`, `create`, `update` and `settings` are understood (docs/choices.md, Permissions). */
const GivenPermission = z
  .strictObject({
    resource: z.string().min(1).max(100).describe('A resource of `GET /permissions/catalog`'),
    action: z
      .string()
      .min(1)
      .max(50)
      .describe('An action of it; `view` is read, `create` and `update` are write'),
  })
  .refine((pair) => rightOf(pair) !== undefined, 'is no pair of the catalogue (GET /permissions/catalog)')

const name = label(100).describe('1 to 100 characters, unlike any other role of the same owner')
const description = text(1_000).nullable().describe('At most 1,000 characters')
const permissions = z
  .array(GivenPermission)
  .max(200)
  .describe('At most 200, none that you do not hold yourself')
const parentRoleId = Id.nullable().describe('A role of the same owner to inherit from; null is none')
const forceMfa = z.boolean().describe('Demand a TOTP authenticator of its users')

/** The role belongs to the caller's partner or organization. */
export const CreateRole = z
  .strictObject({
    name,
    description: description.default(null),
    permissions: permissions.default([]),
    parentRoleId: parentRoleId.default(null),
    forceMfa: forceMfa.default(false),
    orgId: Id.optional().describe(
      'For users of a partner: makes a role of this organization instead of the partner’s',
    ),
  })
  .meta({
    id: 'CreateRole',
    examples: [
      {
        name: 'Night shift',
        description: 'Looks, and restarts what hangs',
        permissions: [
          { resource: 'devices', action: 'read' },
          { resource: 'devices', action: 'execute' },
        ],
      },
    ],
  })
export type CreateRole = z.output<typeof CreateRole>

/** What is left out stays; `permissions` replaces them all. */
export const UpdateRole = z
  .strictObject({ name, description, permissions, parentRoleId, forceMfa })
  .partial()
  .refine(...notEmpty)
  .meta({
    id: 'UpdateRole',
    examples: [{ permissions: [{ resource: 'devices', action: 'read' }] }, { parentRoleId: null }],
  })
export type UpdateRole = z.output<typeof UpdateRole>

export const CloneRole = z
  .strictObject({ name })
  .meta({ id: 'CloneRole', examples: [{ name: 'Technician, days' }] })
export type CloneRole = z.output<typeof CloneRole>

export const AvailablePermissions = z
  .object({
    resources: z.array(z.string()).describe('What a permission may be about'),
    actions: z.array(z.string()).describe('What it may allow; not each goes with each resource'),
  })
  .meta({
    id: 'AvailablePermissions',
    description: 'The words of permissions; which go together says `GET /permissions/catalog`.',
  })
export type AvailablePermissions = z.output<typeof AvailablePermissions>

export const RoleUser = z
  .object({
    id: z.uuid(),
    email: z.string(),
    name: z.string(),
    status: UserStatus,
    createdAt: z.date(),
  })
  .meta({ id: 'RoleUser', description: 'A user who has the role.' })
export type RoleUser = z.output<typeof RoleUser>

export const EffectivePermissions = z
  .object({
    roleId: z.uuid(),
    roleName: z.string(),
    forceMfa: z.boolean().describe('The role or one that it inherits from demands a second factor'),
    inheritanceChain: z
      .array(z.object({ id: z.uuid(), name: z.string() }))
      .describe('The role, its parent, that one’s parent, and so on'),
    permissions: z.array(
      RolePermission.extend({
        inherited: z.boolean(),
        sourceRoleId: z.uuid().describe('The nearest role of the chain that has it'),
        sourceRoleName: z.string(),
      }).meta({ id: 'EffectivePermission', description: 'A right, and the role that it comes from.' }),
    ),
  })
  .meta({ id: 'EffectivePermissions', description: 'All that a role gives, inherited rights included.' })
export type EffectivePermissions = z.output<typeof EffectivePermissions>
