import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../system/harness/api.ts'
import { isAdmitted } from '../system/harness/peer.ts'
import type { System } from '../system/harness/system.ts'
import type { Cast, Played } from './cast.ts'
import type { FleetProcess } from './fleets.ts'
import type { Identity } from './ledgers.ts'
import { pickSome } from './random.ts'
import { closedAfter, comeBackAfter, rivalry } from './strangers.ts'

/** A revocation that has not acted by then never does. */
const revokePatienceMs = 15_000

/** As long as gateways ask for revocations once: each moment of that is as likely. */
const spreadMs = 2_000

/** Revokes them one by one; how long after its answer each connection was cut. */
export const revoke = (api: Api, devices: readonly Played[], random: () => number): Promise<number[]> =>
  Promise.all(
    devices.map(async ({ deviceId, caller }) => {
      await sleep(random() * spreadMs)
      await api.want(200, 'DELETE', `/devices/${deviceId}`)
      return closedAfter(caller, revokePatienceMs)
    }),
  )

/** Of those that must not be, the ones that some gateway admits. */
export async function letIn(system: System, devices: readonly Identity[]): Promise<string[]> {
  const asked = devices.flatMap(({ deviceId, deviceToken }) =>
    system.gatewayUrls.map(async (url) => ((await isAdmitted(url, deviceToken)) ? [deviceId] : [])),
  )
  return (await Promise.all(asked)).flat()
}

const idOf = ({ deviceId }: Identity) => deviceId

export interface Moves {
  /** until the connection that a device had left behind was closed */
  outdatedMs: number[]
  /** until an agent whose place somebody had taken was back in it */
  backMs: number[]
  /** devices that end without a connection */
  gone: string[]
  /** devices whose agents were not there for a while */
  away: string[]
}

/** Devices that connect at the other gateway: a few that only we play, and some of the crowd, amid their work. */
export async function moves(
  system: System,
  cast: Cast,
  crowd: readonly FleetProcess[],
  heartbeatMs: number,
  random: () => number,
  busyMs = 0,
): Promise<Moves> {
  const patienceMs = heartbeatMs + 8_000 + busyMs
  const [first = '', second = ''] = system.gatewayUrls
  const devices = crowd.flatMap((fleet) => fleet.devices)
  const chosen = pickSome(devices, Math.max(3, Math.round(devices.length / 100)), random)
  const alone = await cast.enrolled('moving', 3)
  const [outdatedMs, backMs] = await Promise.all([
    Promise.all(alone.map((identity) => rivalry(identity, [first, second], heartbeatMs, patienceMs))),
    Promise.all(chosen.map((identity) => comeBackAfter(system, identity, patienceMs))),
  ])
  return { outdatedMs, backMs, gone: alone.map(idOf), away: chosen.map(idOf) }
}
