import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AgentEvent,
  type Execution,
  type Fleet,
  type FleetOptions,
  type Mix,
  startFleet,
  type TransportKind,
} from '@svc/agent-sim'
import { loadIdentities } from '../../../src/identity/files.ts'
import type { System } from './system.ts'

/** Something that an agent did, and when by the clock of this process. */
export type Seen = AgentEvent & { number: number; at: number }

/** Simulated agents, with what they say of themselves. Identities and ledgers are on disk: a crowd can be brought back. */
export interface Crowd {
  readonly fleet: Fleet
  readonly events: readonly Seen[]
  /** where identities, ledgers and executions are */
  readonly folder: string
  /** device ids by number from 1 */
  readonly ids: string[]
  /** Resolves with the next event that is as wanted, in the turn in which it happens. */
  next(wanted: (event: Seen) => boolean): Promise<Seen>
  /** What the ledgers say was started, over all lives. */
  executions(): Execution[]
  /** By device: the epoch of its latest connection; absent for those who hold none. */
  epochs(): Map<string, number>
  /** The device's token, as only its agent knows it. */
  token(deviceId: string): Promise<string>
  number(deviceId: string): number
  /** The transports of devices, each once. */
  vias(deviceIds: readonly string[]): Set<TransportKind>
}

export interface CrowdOptions {
  agents: number
  /** tells crowds apart, and finds one that was there before */
  name: string
  /** default: all over WebSocket */
  transports?: Mix
  /** they enroll with keys of their own */
  deviceKeys?: boolean
  /** default: the system's own tenant's */
  enrollmentKey?: string
  /** where gateways listen, instead of all that are told at enrollment */
  gateways?: readonly string[]
  /** what befalls them, and who is told of it; see the fleet */
  churn?: FleetOptions['churn']
  struck?: FleetOptions['struck']
  /** each device has one */
  watchdogs?: FleetOptions['watchdogs']
}

/** Devices over every transport, most of them over the one that most agents use. */
export const mixed: Mix = { websocket: 60, mqtt: 25, 'mqtt-ws': 15 }

/** Enrolls or brings back so many agents and waits until each is connected. */
export async function startCrowd(system: System, options: CrowdOptions): Promise<Crowd> {
  const { agents, name, transports, gateways, churn, struck, watchdogs, deviceKeys = false } = options
  const stateDir = join(system.folder, name)
  const events: Seen[] = []
  const waiting = new Set<(event: Seen) => void>()
  const fleet = await startFleet({
    api: system.apiUrl,
    enrollmentKey: options.enrollmentKey ?? system.tenant.enrollmentKey,
    agents,
    rampPerSecond: 100,
    prefix: `${name}-`,
    deviceKeys,
    stateDir,
    ledgerDir: stateDir,
    ...(transports && { transports }),
    ...(gateways && { gateways }),
    ...(churn && { churn }),
    ...(struck && { struck }),
    ...(watchdogs && { watchdogs }),
    observe: (number, event) => {
      const seen = { ...event, number, at: Date.now() }
      events.push(seen)
      for (const look of waiting) look(seen)
    },
  })
  await fleet.ready()
  const numbered = fleet.agents
  const number = (deviceId: string) => numbered.find((agent) => agent.deviceId === deviceId)?.number ?? 0
  return {
    fleet,
    events,
    folder: stateDir,
    ids: numbered.map(({ deviceId }) => deviceId),
    next: (wanted) =>
      new Promise((resolve) => {
        const look = (event: Seen) => {
          if (!wanted(event)) return
          waiting.delete(look)
          resolve(event)
        }
        waiting.add(look)
      }),
    executions: () => readExecutions(join(stateDir, 'executions.jsonl')),
    epochs: () => {
      const epochs = new Map<string, number>()
      for (const event of events) {
        const deviceId = numbered[event.number - 1]?.deviceId ?? ''
        if (event.kind === 'connected') epochs.set(deviceId, event.epoch)
        if (event.kind === 'disconnected' || event.kind === 'stopped') epochs.delete(deviceId)
      }
      return epochs
    },
    token: async (deviceId) => {
      const identity = (await loadIdentities(stateDir)).get(number(deviceId))
      if (!identity) throw new Error(`no identity of ${deviceId}`)
      return identity.deviceToken
    },
    number,
    vias: (deviceIds) => new Set(deviceIds.flatMap((id) => numbered[number(id) - 1]?.via ?? [])),
  }
}

/** The ledger of a fleet on disk. */
export const readExecutions = (file: string): Execution[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Execution)
    : []
