import { z } from 'zod'
import { Id } from '../../../../kernel/id.ts'
import { label } from '../../../../kernel/text.ts'

export const GroupType = z.enum(['static', 'dynamic'])

/** A device group of an organization (interface §Domain terms). Its name is unique there, whatever the case. */
export const Group = z
  .object({
    id: z.uuid(),
    orgId: z.uuid(),
    name: z.string(),
    type: GroupType,
    deviceCount: z.int().describe('Devices in service that are in it and that you may see'),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({
    id: 'Group',
    description: 'A device group of an organization. Its name is unique there, whatever the case.',
  })
export type Group = z.output<typeof Group>

export const GroupFilter = z.strictObject({
  orgId: Id.optional().describe('Only groups of this organization'),
  search: label(255).optional().describe('A part of the name, in any case'),
})
export type GroupFilter = z.output<typeof GroupFilter>

const name = label(255).describe('1 to 255 characters; unique in the organization, whatever the case')

export const CreateGroup = z
  .strictObject({
    orgId: Id.describe('The organization that the group belongs to'),
    name,
    type: GroupType.default('static').describe('`static` when left out; `dynamic` is refused (501)'),
  })
  .meta({
    id: 'CreateGroup',
    examples: [{ orgId: '0195d0a0-7c11-7000-8000-000000000001', name: 'Servers' }],
  })
export type CreateGroup = z.output<typeof CreateGroup>

export const UpdateGroup = z
  .strictObject({ name })
  .meta({ id: 'UpdateGroup', examples: [{ name: 'Database servers' }] })
export type UpdateGroup = z.output<typeof UpdateGroup>
