import type { Site } from '../../../../control-plane/test/harness/make.ts'
import type { Api } from '../../system/harness/api.ts'
import type { System } from '../../system/harness/system.ts'
import type { Office } from './office.ts'
import { type Administrators, type Tenant, tenantAt } from './tenants.ts'

/** So many of each; what is planted comes on top, as the last of its kind. */
export const twoOfEach = 2

/** Where everything happens: two control planes, two gateways, and a partner with an organization that is left alone. */
export interface World {
  system: System
  office: Office
  /** of control planes, and of gateways over WebSocket: those that are judged */
  planes: string[]
  gateways: string[]
  /** whoever administers, at each of the control planes */
  administrators: Administrators[]
  /** of the administrators' partner, who is never revoked */
  home: Site
  /** devices, people and keys that nothing happens to */
  neighbours: Tenant
  /** of an agent: where gateways listen, whatever is spoken there */
  listeners: string[]
}

export const planeUrl = ({ controlPlanePorts }: System, index: number): string =>
  `http://127.0.0.1:${controlPlanePorts[index]?.port ?? ''}`

/** Every way to this gateway. */
export function listenersOf({ gatewayUrls, mqttUrls }: System, index: number): string[] {
  const webSocket = gatewayUrls[index] ?? ''
  return [webSocket, webSocket.replace('/agent', '/mqtt'), mqttUrls[index] ?? '']
}

/** @param agents of the neighbours */
export async function openWorld(system: System, office: Office, agents: number): Promise<World> {
  const { make, people, at } = office
  const indices = Array.from({ length: twoOfEach }, (_, index) => index)
  const planes = indices.map((index) => planeUrl(system, index))
  const listeners = indices.flatMap((index) => listenersOf(system, index))
  const home = await make.site()
  const [partners, platforms] = await Promise.all([
    at(planes, await people.partnerAdmin(home.partnerId)),
    at(planes, await people.platformAdmin()),
  ])
  const administrators = partners.map((partner: Api, index) => ({
    partner,
    platform: platforms[index] ?? partner,
  }))
  const neighbours = await tenantAt(system, office, {
    partnerId: home.partnerId,
    name: 'neighbours',
    agents,
    gateways: listeners,
  })
  return {
    system,
    office,
    planes,
    gateways: system.gatewayUrls.slice(0, twoOfEach),
    administrators,
    home,
    neighbours,
    listeners,
  }
}
