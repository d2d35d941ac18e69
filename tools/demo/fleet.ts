import { join } from 'node:path'
import { type Fleet, kindsIn, type Mix, startFleet, type TransportKind } from '@svc/agent-sim'
import type { DemoDevice, Traveller } from './devices.ts'
import { within } from '../start/within.ts'
import { late, until } from './job.ts'

const comeBackWithinMs = 60_000

export interface DemoFleet {
  /** Agents that hold a connection now, by their own word. */
  connected(): number
  devices(): DemoDevice[]
  /** The transport of each device, the traveller's too, by device id. */
  vias(): Map<string, TransportKind>
  traveller: Traveller
  /** Everybody was admitted. */
  ready(): Promise<void>
  stop: () => Promise<void>
}

/**
 * `agents` simulated devices in this process. One of them is apart: it keeps its identity and its ledger on disk, so that
 * losing it is a loss of power and its return a start from what it had written.
 */
export async function startDemoFleet(
  api: string,
  enrollmentKey: string,
  agents: number,
  transports: Mix,
  dir: string,
): Promise<DemoFleet> {
  const crowd = await startFleet({
    api,
    enrollmentKey,
    agents: agents - 1,
    transports,
    rampPerSecond: 200,
    prefix: 'demo',
  })
  const [first = 'websocket'] = kindsIn(transports)
  const alone = () =>
    startFleet({
      api,
      enrollmentKey,
      agents: 1,
      transports: { [first]: 1 },
      prefix: 'traveller',
      stateDir: join(dir, 'traveller'),
      ledgerDir: join(dir, 'traveller'),
    })
  let single: Fleet = await alone()
  /** Of the lives before: a fleet tells what it ran itself. */
  const earlier: string[] = []
  const countIn = (ids: readonly string[], commandId: string) => ids.filter((id) => id === commandId).length
  const ranBy = (fleet: Fleet) => fleet.executions().map((execution) => execution.commandId)

  const traveller: Traveller = {
    get id() {
      return single.agents[0]?.deviceId ?? ''
    },
    via: first,
    executions: (commandId) => countIn([...earlier, ...ranBy(single)], commandId),
    goAway: async () => {
      earlier.push(...ranBy(single))
      await single.kill()
    },
    comeBack: async () => {
      single = await alone()
      await within(single.ready(), comeBackWithinMs, () =>
        late('the device that was away is back', comeBackWithinMs),
      )
    },
  }
  return {
    traveller,
    connected: () => [...crowd.agents, ...single.agents].filter(({ agent }) => agent.isConnected).length,
    devices: () =>
      crowd.agents.map(({ deviceId, via }) => ({
        id: deviceId,
        via,
        executions: (commandId) => countIn(ranBy(crowd), commandId),
      })),
    vias: () => new Map([...crowd.agents, ...single.agents].map(({ deviceId, via }) => [deviceId, via])),
    ready: async () => {
      const withinMs = 60_000 + agents * 50
      const all = Promise.all([crowd.ready(), single.ready()])
      const here = () => crowd.stats().connected + single.stats().connected
      await within(all, withinMs, () =>
        late(`all ${agents} agents were admitted (${here()} are connected)`, withinMs),
      )
      await until(() => single.agents.length === 1, 'the traveller is enrolled')
    },
    stop: async () => {
      await Promise.all([crowd.stop(), single.stop()])
    },
  }
}
