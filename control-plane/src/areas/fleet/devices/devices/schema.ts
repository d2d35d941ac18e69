import { z } from 'zod'
import { Id } from '../../../../kernel/id.ts'
import { isStorable } from '../../../../db/array-literal.ts'
import { csv, flag, wholeNumber } from '../../../../kernel/query-text.ts'
import { rowsAsJson } from '../../../../kernel/rows-as-json.ts'
import { unstorableText } from '../../../../kernel/text.ts'
import { Disk, Hardware } from '../inventory/schema.ts'

export const DeviceStatus = z.enum([
  'pending',
  'online',
  'offline',
  'updating',
  'maintenance',
  'quarantined',
  'decommissioned',
])
export const OsType = z.enum(['windows', 'macos', 'linux'])
export const DeviceRole = z.enum([
  'workstation',
  'server',
  'printer',
  'router',
  'switch',
  'firewall',
  'access_point',
  'phone',
  'iot',
  'camera',
  'nas',
  'unknown',
])

/** The part of the hardware that a list shows. */
const HardwareSummary = Hardware.pick({
  cpuModel: true,
  cpuCores: true,
  ramTotalBytes: true,
  diskTotalBytes: true,
})

/**
 * A device as lists show it. `lastSeenAt` is the last contact by the server's clock, `status` the projection of lifecycle,
 * activity, maintenance and connectivity. Percentages are those of the latest heartbeat, null before the first.
 */
export const Device = z
  .object({
    id: z.uuid(),
    orgId: z.uuid(),
    siteId: z.uuid(),
    hostname: z.string(),
    displayName: z.string().nullable(),
    osType: OsType,
    osName: z.string().nullable(),
    osVersion: z.string().nullable(),
    osBuild: z.string().nullable(),
    architecture: z.string().nullable(),
    agentVersion: z.string().nullable(),
    helperVersion: z.string().nullable(),
    watchdogVersion: z.string().nullable(),
    deviceRole: DeviceRole,
    status: DeviceStatus.describe('Projection of lifecycle, activity, maintenance and connectivity'),
    tags: z.array(z.string()),
    customFields: z.record(z.string(), z.unknown()),
    autoUpdateEnabled: z.boolean(),
    isVirtual: z.boolean().nullable(),
    virtualizationPlatform: z.string().nullable(),
    pendingReboot: z.boolean(),
    lastUser: z.string().nullable(),
    lastSeenAt: z.date().nullable().describe('Last contact, by the server’s clock'),
    lastSeenIp: z.string().nullable(),
    mainAgentSilentSince: z
      .date()
      .nullable()
      .describe('Since when the agent is silent while its watchdog was heard; null once it is heard'),
    watchdogStatus: z
      .enum(['connected', 'failover', 'offline'])
      .nullable()
      .describe('`failover`: it speaks in place of its agent; null where none was ever heard'),
    cpuPercent: z.number().nullable().describe('Of the latest heartbeat; null before the first'),
    ramPercent: z.number().nullable().describe('As `cpuPercent`'),
    diskPercent: z.number().nullable().describe('As `cpuPercent`'),
    uptimeSeconds: z.int().nullable(),
    hardware: HardwareSummary.nullable(),
    enrolledAt: z.date().nullable(),
    decommissionedAt: z.date().nullable(),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'Device', description: 'A device as lists show it.' })
export type Device = z.output<typeof Device>

/** A page of them is written by Postgres. */
export const devicesAsJson = rowsAsJson(Device)

const DeviceGroup = z.object({
  groupId: z.uuid(),
  groupName: z.string(),
  groupType: z.enum(['static', 'dynamic']),
  addedAt: z.date(),
})
export type DeviceGroup = z.output<typeof DeviceGroup>

/** The newest update of the device: of the component that was last offered or said anything. */
const DeviceUpdate = z.object({
  component: z.enum(['agent', 'helper']),
  phase: z
    .enum([
      'offered',
      'downloading',
      'verifying',
      'backing_up',
      'swapping',
      'restarting',
      'done',
      'rolled_back',
      'failed',
    ])
    .describe('`offered`: the device has said nothing of it yet'),
  from: z.string().nullable(),
  to: z.string().nullable(),
  reason: z.string().nullable().describe('Of a failure or roll-back'),
  at: z.date().describe('When that was heard'),
})
export type DeviceUpdate = z.output<typeof DeviceUpdate>

/** A device that connects again and again. */
const Flapping = z.object({
  since: z.date(),
  reconnects: z.int().describe('Connections of it since then and shortly before'),
})

export const DeviceDetail = Device.extend({
  orgName: z.string(),
  siteName: z.string(),
  siteTimezone: z.string(),
  enrollmentIp: z.string().nullable(),
  enrollmentKeyId: z.uuid().nullable(),
  bootId: z.string().nullable(),
  quarantinedAt: z.date().nullable(),
  quarantineReason: z.string().nullable().describe('Why it was cut off, by whoever did it'),
  hardware: Hardware.nullable(),
  disks: z.array(Disk),
  groups: z.array(DeviceGroup),
  flapping: Flapping.nullable().describe('Set while the device connects again and again'),
  update: DeviceUpdate.nullable().describe('The newest update of the device; null before the first'),
}).meta({ id: 'DeviceDetail', description: 'A device with its hardware, disks and groups.' })
export type DeviceDetail = z.output<typeof DeviceDetail>

export const DeviceSort = z.enum(['hostname', 'lastSeen', 'enrolled'])
export type DeviceSort = z.output<typeof DeviceSort>
export type SortDir = 'asc' | 'desc'

/** The two statements of interface §Limits about the page size hold for one mode each. */
const maxLimit = { page: 500, cursor: 1000 } as const
const defaultLimit = 50

const ids = (of: string) =>
  csv(Id).optional().describe(`Ids of ${of}, comma-separated; one that you may not see matches nothing`)

/** What restricts a list of devices. An id that the caller may not see matches nothing. */
const DeviceFilter = z.strictObject({
  orgIds: ids('organizations'),
  siteIds: ids('sites'),
  groupIds: ids('device groups'),
  status: csv(DeviceStatus)
    .optional()
    .describe(`Comma-separated: ${DeviceStatus.options.join(', ')}`),
  osType: csv(OsType)
    .optional()
    .describe(`Comma-separated: ${OsType.options.join(', ')}`),
  search: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .refine(isStorable, unstorableText)
    .optional()
    .describe('A part of the hostname or display name, in any case'),
  includeDecommissioned: flag
    .default(false)
    .describe(
      'Decommissioned devices are left out unless asked for here or by `status`; the bare name turns it on',
    ),
})
export type DeviceFilter = z.output<typeof DeviceFilter>

/** `GET /devices`: with `page` the legacy mode, else keyset mode (interface §Devices, §Limits). */
export const DeviceQuery = DeviceFilter.extend({
  page: wholeNumber(1, 1_000_000).optional().describe('Page number; turns page mode on. Not with `cursor`'),
  cursor: z
    .string()
    .min(1)
    .max(2048)
    .optional()
    .describe('`nextCursor` of the page before, with the same `sort` and `sortDir`. Not with `page`'),
  limit: wholeNumber(1, maxLimit.cursor)
    .default(defaultLimit)
    .describe(`Rows of a page; ${defaultLimit} when left out, at most ${maxLimit.page} with \`page\``),
  sort: DeviceSort.default('hostname').describe('`hostname` when left out'),
  sortDir: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('`asc` for hostname, `desc` for the others when left out'),
  includeTotal: flag
    .default(false)
    .describe('Adds `total`, on the first page only; the bare name turns it on'),
}).superRefine(({ page, cursor, limit }, check) => {
  const problem = (path: string, message: string) => check.addIssue({ code: 'custom', path: [path], message })
  if (page !== undefined && cursor !== undefined) problem('cursor', 'must not be combined with page')
  if (page !== undefined && limit > maxLimit.page)
    problem('limit', `must be at most ${maxLimit.page} with page`)
})
export type DeviceQuery = z.output<typeof DeviceQuery>

/**
 * Keyset mode answers `nextCursor`, null on the last page, and `total` on the first page when `includeTotal` asks for it;
 * page mode answers `page` and always `total` (interface §Paging envelopes).
 */
export const DeviceList = z
  .object({
    devices: z.array(Device),
    nextCursor: z
      .string()
      .nullable()
      .optional()
      .describe('Hand it back as `cursor` for the next page; null on the last. Absent in page mode'),
    page: z.int().optional().describe('In page mode'),
    limit: z.int().describe('Rows of a page'),
    total: z.int().optional().describe('Always in page mode; else on the first page with `includeTotal`'),
  })
  .meta({ id: 'DeviceList', description: 'One page of devices.' })
export type DeviceList = z.output<typeof DeviceList>

/** A position in a sorted list: the sort key of the last row as text, and its id. Belongs to one sort and direction. */
export interface Position {
  key: string
  id: string
}
