import { z } from 'zod'
import { Id } from '../../../../kernel/id.ts'
import { flag } from '../../../../kernel/query-text.ts'
import { DeviceStatus, OsType } from '../../devices/devices/schema.ts'

/** So many devices join a group with one request (decisions: as many as a bulk names). */
export const mostDevices = 1_000

/** A device as a member of a group. */
export const GroupDevice = z
  .object({
    id: z.uuid().describe('Of the device'),
    siteId: z.uuid(),
    hostname: z.string(),
    displayName: z.string().nullable(),
    osType: OsType,
    status: DeviceStatus,
    addedAt: z.date().describe('When it joined the group'),
  })
  .meta({ id: 'GroupDevice', description: 'A device as a member of a group.' })
export type GroupDevice = z.output<typeof GroupDevice>

export const GroupDeviceFilter = z.strictObject({
  includeDecommissioned: flag
    .default(false)
    .describe('Decommissioned devices stay in their groups and are left out unless asked for here'),
})
export type GroupDeviceFilter = z.output<typeof GroupDeviceFilter>

export const AddDevices = z
  .strictObject({
    deviceIds: z
      .array(Id)
      .min(1)
      .max(mostDevices)
      .describe('Devices of the group’s organization; one that is in it already is no error'),
  })
  .meta({ id: 'AddDevices', examples: [{ deviceIds: ['0195d0a0-7c11-7000-8000-000000000003'] }] })
export type AddDevices = z.output<typeof AddDevices>

/** What became of each device that a request named, each once, in its order. */
export const DevicesAdded = z
  .object({
    added: z.array(z.uuid()),
    skipped: z.array(z.uuid()).describe('In the group already'),
    failed: z
      .array(z.object({ deviceId: z.uuid(), code: z.literal('NOT_FOUND') }))
      .describe('Those that the group’s organization does not have, or that you may not see'),
    deviceCount: z.int().describe('Of the group, as it is now'),
  })
  .meta({ id: 'DevicesAdded', description: 'What became of each device that the request named.' })
export type DevicesAdded = z.output<typeof DevicesAdded>

const Action = z.enum(['added', 'removed'])

/** One change of a group's members; names are those that the device has now. */
export const MembershipChange = z
  .object({
    id: z.uuid(),
    groupId: z.uuid(),
    deviceId: z.uuid(),
    hostname: z.string(),
    displayName: z.string().nullable(),
    action: Action,
    reason: z.enum(['manual']),
    createdAt: z.date(),
  })
  .meta({
    id: 'MembershipChange',
    description: 'One change of a group’s members; names are those that the device has now.',
  })
export type MembershipChange = z.output<typeof MembershipChange>

export const MembershipLogFilter = z.strictObject({
  deviceId: Id.optional().describe('Only changes of this device'),
  action: Action.optional().describe('`added` or `removed`'),
})
export type MembershipLogFilter = z.output<typeof MembershipLogFilter>
