import { join } from 'node:path'
import { type Program, startProgram } from '../system/harness/program.ts'
import type { System } from '../system/harness/system.ts'
import { until } from '../system/harness/until.ts'
import { type Effect, effectsIn, type Identity, identitiesIn } from './ledgers.ts'

/** Simulated agents in a process of their own, seen by the files that they keep and by the database alone. */
export interface FleetProcess {
  folder: string
  program: Program
  devices: Identity[]
  effects(): Effect[]
}

const perSecond = 100
/** By a server that has much else to do. */
const enrolledWithinMs = (agents: number) => Math.max(120_000, agents * 100)

/**
 * Starts so many agents; resolves when each is enrolled.
 * @param more switches
 * @param variables of its environment; guards that the whole system is without, it is without as well
 */
export async function startFleetProcess(
  system: System,
  name: string,
  agents: number,
  more: Record<string, string> = {},
  variables: Record<string, string> = {},
): Promise<FleetProcess> {
  const { NODE_ENV = '', SVC_TEST_WITHOUT = '' } = system.environment
  const folder = join(system.folder, name)
  const switches = {
    '--agents': String(agents),
    '--ramp': String(perSecond),
    '--prefix': `${name}-`,
    '--state-dir': folder,
    '--ledger-dir': folder,
    ...more,
  }
  const program = await startProgram({
    entry: 'agent',
    args: ['fleet', ...Object.entries(switches).flat()],
    env: {
      SVC_API: system.apiUrl,
      SVC_ENROLLMENT_KEY: system.tenant.enrollmentKey,
      NODE_ENV,
      SVC_TEST_WITHOUT,
      ...variables,
    },
    ready: /connected/,
  })
  const enrolled = () => identitiesIn(folder).length >= agents
  await until(`${agents} agents are enrolled`, enrolled, enrolledWithinMs(agents)).catch(
    async (error: Error) => {
      await program.kill()
      throw error
    },
  )
  return { folder, program, devices: identitiesIn(folder), effects: () => effectsIn(folder) }
}

/** How long, from now, until all of them count as online; infinite when not within `patienceMs`. */
export async function onlineAfter({ sql }: System, fleet: FleetProcess, patienceMs: number): Promise<number> {
  const ids = fleet.devices.map(({ deviceId }) => deviceId)
  const began = performance.now()
  const online = async () => {
    const rows = await sql`
      select from devices where id = any(${ids}::uuid[]) and connectivity = 'online'`
    return rows.length === ids.length
  }
  return until('all are online', online, patienceMs).then(
    () => performance.now() - began,
    () => Number.POSITIVE_INFINITY,
  )
}
