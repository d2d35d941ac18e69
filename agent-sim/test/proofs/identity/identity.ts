import type { TestDatabase } from '../../../../control-plane/test/harness/database.ts'
import { startSystem } from '../../system/harness/system.ts'
import { randomFrom } from '../random.ts'
import { twoOfEach } from '../revocation/world.ts'
import type { Row } from '../verdict.ts'
import { copies } from './copies.ts'
import { keys } from './keys.ts'
import { races } from './races.ts'
import { renewal } from './renewal.ts'
import { standing } from './standing.ts'
import { openPlace, type Place, timeVariables } from './world.ts'

/** Guards of the control planes that can be taken away. */
export const identityPlants = ['generations', 'copies'] as const
export type IdentityPlant = (typeof identityPlants)[number]

export interface Identity {
  /** of killing while devices renew */
  seconds: number
  agents: number
  seed: number
  /** what is repeated, a few times only */
  short?: boolean
  plants?: readonly IdentityPlant[]
  database?: TestDatabase | undefined
  say: (line: string) => void
}

/** Of a device whose network is flaky. */
const reconnects = { long: 200, short: 40 } as const

/**
 * Devices are who they are, whatever dies: they renew their tokens and are never locked out, copies of them are found and they are never
 * taken for one, a stolen token opens nothing without its key, and who is cut off or moved is so within five seconds.
 */
export async function identity({
  seconds,
  agents,
  seed,
  short = false,
  plants = [],
  database,
  say,
}: Identity): Promise<Row[]> {
  const system = await startSystem({
    gateways: twoOfEach,
    controlPlanes: twoOfEach,
    variables: { ...timeVariables, SVC_TEST_WITHOUT: plants.join() },
    ...(database && { database }),
  })
  const place = await openPlace(system)
  try {
    const part = async (name: string, work: (place: Place) => Promise<Row[]>) => {
      const began = performance.now()
      const rows = await work(place)
      say(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
      return rows
    }
    // Devices of their own, and nothing dies.
    const rows = await Promise.all([
      part('enrollment races', races),
      part('device keys', keys),
      part('copies', () => copies(place, reconnects[short ? 'short' : 'long'])),
      part('quarantine, decommission, move', standing),
    ])
    rows.push(
      await part('renewal under kills', () => renewal(place, { agents, seconds, random: randomFrom(seed) })),
    )
    return rows.flat()
  } finally {
    await place.office.close()
    await system.close()
  }
}
