import { z } from 'zod'
import { text } from '../../../kernel/text.ts'
import { DeviceRole, OsType } from '../devices/devices/schema.ts'

const bytes = z.int().min(0)

/** What the agent knows of the machine when it enrolls; sizes in bytes. */
const EnrollHardware = z.strictObject({
  cpuModel: text(255).optional().describe('As the processor names itself'),
  cpuCores: z.int().min(0).max(65_535).optional().describe('Physical cores'),
  cpuThreads: z.int().min(0).max(65_535).optional().describe('Logical processors'),
  ramTotalBytes: bytes.optional().describe('Bytes of memory'),
  diskTotalBytes: bytes.optional().describe('Bytes of all disks'),
  serialNumber: text(255).optional().describe('Of the machine'),
  manufacturer: text(255).optional().describe('Of the machine'),
  model: text(255).optional().describe('Of the machine'),
  biosVersion: text(255).optional().describe('Firmware version'),
  gpuModel: text(255).optional().describe('First graphics adapter'),
})
export type EnrollHardware = z.output<typeof EnrollHardware>

/** The raw 32 bytes of an Ed25519 public key (RFC 8032 §5.1.5), base64. */
const PublicKey = z.base64().transform((key, check) => {
  const raw = Buffer.from(key, 'base64')
  if (raw.length === 32) return raw
  check.issues.push({ code: 'custom', input: key, message: 'must be the 32 bytes of an Ed25519 public key' })
  return z.NEVER
})

/** `POST /agents/enroll`. The enrollment key says where the device belongs. */
export const Enroll = z
  .strictObject({
    enrollmentKey: z.string().min(1).max(255).describe('The key, `svce_…`; says where the device belongs'),
    hostname: text(255)
      .refine((name) => name.trim() !== '', 'must not be empty')
      .describe('1 to 255 characters'),
    osType: OsType.describe('Operating system family'),
    osName: text(255).optional().describe('Such as `Debian GNU/Linux`'),
    osVersion: text(100).optional().describe('Such as `12`'),
    osBuild: text(100).optional().describe('Such as `6.1.0-18-amd64`'),
    architecture: text(20).describe('Such as `amd64` or `arm64`'),
    agentVersion: text(50).describe('Semantic version of the agent'),
    deviceRole: DeviceRole.default('unknown').describe('What the device is for'),
    isVirtual: z.boolean().optional().describe('Runs in a virtual machine'),
    virtualizationPlatform: text(100).optional().describe('Such as `kvm`'),
    publicKey: PublicKey.optional().describe('Ed25519 key of the device: its 32 bytes, base64'),
    hardware: EnrollHardware.optional().describe('What the agent knows of the machine'),
  })
  .meta({
    id: 'Enroll',
    examples: [
      {
        enrollmentKey: 'svce_…',
        hostname: 'web-01',
        osType: 'linux',
        osName: 'Debian GNU/Linux',
        osVersion: '12',
        architecture: 'amd64',
        agentVersion: '1.0.0',
        hardware: { cpuModel: 'EPYC 7302', cpuCores: 16, ramTotalBytes: 68_719_476_736 },
      },
    ],
  })
export type Enroll = z.output<typeof Enroll>

/** All that an agent needs from now on. `deviceToken` is shown this once. */
export const Enrolled = z
  .object({
    deviceId: z.uuid(),
    deviceToken: z.string().describe('The device’s credential from now on; shown this once'),
    orgId: z.uuid(),
    siteId: z.uuid(),
    gatewayUrls: z
      .object({ websocket: z.array(z.string()), mqtt: z.array(z.string()) })
      .describe('Where to connect, by what is spoken there'),
    commandSigningKeys: z
      .array(z.object({ keyId: z.string(), publicKey: z.string() }))
      .describe('Ed25519 keys, raw and base64: the agent runs nothing that none of them has signed'),
    releaseKeys: z
      .array(z.object({ keyId: z.string(), publicKey: z.string() }))
      .describe('As `commandSigningKeys`: the agent updates itself to nothing that none of them has signed'),
    config: z.object({ heartbeatIntervalSeconds: z.number() }),
  })
  .meta({ id: 'Enrolled', description: 'All that an agent needs from now on.' })
export type Enrolled = z.output<typeof Enrolled>
