import { z } from 'zod'
import { isStorable } from '../../../../db/array-literal.ts'
import { envelopeOf } from '../../../../kernel/envelope.ts'
import { PageQuery } from '../../../../kernel/page.ts'
import { unstorableText } from '../../../../kernel/text.ts'

/** What the agent reported of the machine itself; sizes in bytes. All null before the first report. */
export const Hardware = z
  .object({
    cpuModel: z.string().nullable(),
    cpuCores: z.int().nullable(),
    cpuThreads: z.int().nullable(),
    ramTotalBytes: z.int().nullable(),
    diskTotalBytes: z.int().nullable(),
    serialNumber: z.string().nullable(),
    manufacturer: z.string().nullable(),
    model: z.string().nullable(),
    biosVersion: z.string().nullable(),
    gpuModel: z.string().nullable(),
    collectedAt: z.date().nullable(),
  })
  .meta({
    id: 'Hardware',
    description: 'What the agent reported of the machine; sizes in bytes. All null before the first report.',
  })
export type Hardware = z.output<typeof Hardware>

/** One mounted file system; `freeBytes` is what unprivileged users may still use. */
export const Disk = z
  .object({
    mountPoint: z.string(),
    device: z.string().nullable(),
    fsType: z.string().nullable(),
    totalBytes: z.int(),
    usedBytes: z.int(),
    freeBytes: z.int().describe('What unprivileged users may still use'),
    collectedAt: z.date(),
  })
  .meta({ id: 'Disk', description: 'One mounted file system; sizes in bytes.' })
export type Disk = z.output<typeof Disk>

/** The generic list envelope; a device has few file systems, so there is always one page. */
export const DiskList = envelopeOf(Disk)

const NetworkInterface = z
  .object({
    name: z.string(),
    macAddress: z.string().nullable(),
    addresses: z.array(z.string()).describe('With the length of the prefix: 192.0.2.7/24'),
    state: z.enum(['up', 'down', 'unknown']),
    mtu: z.int().nullable(),
    speedMbps: z.int().nullable().describe('Null where the driver does not know'),
    isPrimary: z.boolean().describe('Carries the default route'),
  })
  .meta({ id: 'NetworkInterface', description: 'One network interface, the loopback excepted.' })
export type NetworkInterface = z.output<typeof NetworkInterface>

/** How the device is connected, as the agent reported it. */
export const Network = z
  .object({
    interfaces: z.array(NetworkInterface),
    defaultGateway: z.string().nullable(),
    dnsServers: z.array(z.string()),
    collectedAt: z.date().nullable().describe('Null before the first report'),
  })
  .meta({ id: 'Network', description: 'How the device is connected, as the agent reported it.' })
export type Network = z.output<typeof Network>

/** One installed package. `id` stays when its version changes. */
export const SoftwarePackage = z
  .object({
    id: z.uuid().describe('Of this package on this device, whatever its version'),
    name: z.string(),
    version: z.string(),
    vendor: z.string().nullable().describe('Publisher or maintainer'),
    architecture: z.string().nullable(),
    source: z.string().nullable().describe('Where the agent found it: dpkg, rpm, apk, …'),
    installedAt: z.date().nullable(),
    reportedAt: z.date().describe('When the agent first reported it like this'),
  })
  .meta({ id: 'SoftwarePackage', description: 'One package that is installed on a device.' })
export type SoftwarePackage = z.output<typeof SoftwarePackage>

export const SoftwareQuery = z.strictObject({
  ...PageQuery,
  search: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .refine(isStorable, unstorableText)
    .optional()
    .describe('A part of the name or vendor, in any case'),
})
export type SoftwareQuery = z.output<typeof SoftwareQuery>

export const SoftwareList = envelopeOf(SoftwarePackage)
