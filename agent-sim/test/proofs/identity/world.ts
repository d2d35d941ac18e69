import type { Site } from '../../../../control-plane/test/harness/make.ts'
import type { Api } from '../../system/harness/api.ts'
import type { System } from '../../system/harness/system.ts'
import { type Office, openOffice } from '../revocation/office.ts'
import { planeUrl, twoOfEach } from '../revocation/world.ts'

/** Where identities are proven: one partner with organizations, at two control planes and two gateways. */
export interface Place {
  system: System
  office: Office
  home: Site
  /** of control planes */
  planes: string[]
  /** the administrator of the partner, at each of them */
  admins: Api[]
}

/** Times of the product that would take weeks or minutes. */
export const times = { renewMs: 1_000, replacedMs: 1_500 } as const
export const timeVariables = {
  CREDENTIAL_RENEW_MS: String(times.renewMs),
  CREDENTIAL_REPLACED_MS: String(times.replacedMs),
}

export async function openPlace(system: System): Promise<Place> {
  const office = await openOffice(system)
  const planes = Array.from({ length: twoOfEach }, (_, index) => planeUrl(system, index))
  const home = await office.make.site()
  const admins = await office.at(planes, await office.people.partnerAdmin(home.partnerId))
  return { system, office, home, planes, admins }
}

/** A device by its token alone, and its key where it has one. */
export interface Bare {
  deviceId: string
  deviceToken: string
}

/** @param more of the body, such as `publicKey` */
export async function enrollAt({ office, admins }: Place, site: Site, more: object = {}): Promise<Bare> {
  const { key } = await office.make.enrollmentKey(site, { maxUsage: null })
  const facts = { hostname: 'bare', osType: 'linux', architecture: 'amd64', agentVersion: '1.0.0' }
  const [admin] = admins
  if (!admin) throw new Error('there is no control plane')
  return admin.want<Bare>(201, 'POST', '/agents/enroll', { enrollmentKey: key, ...facts, ...more })
}

export interface DeviceRow {
  id: string
  orgId: string
  lifecycle: string
  quarantineReason: string | null
  tokenSha256: Buffer | null
  nextTokenSha256: Buffer | null
  tokenGeneration: number
}

export const deviceRows = ({ system }: Place, ids: readonly string[]) => system.sql<DeviceRow[]>`
  select id, org_id, lifecycle, quarantine_reason, token_sha256, next_token_sha256, token_generation from devices
  where id = any (${[...ids]}::uuid[])`

export async function deviceRow(place: Place, id: string): Promise<DeviceRow> {
  const [row] = await deviceRows(place, [id])
  if (!row) throw new Error(`there is no device ${id}`)
  return row
}
