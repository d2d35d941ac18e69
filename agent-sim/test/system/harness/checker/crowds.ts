import type { Crowd } from '../crowd.ts'
import type { Accepted } from '../judge.ts'
import type { System } from '../system.ts'
import { check } from './checker.ts'
import type { Asked } from './evidence.ts'
import { fleetLedgers } from './ledgers.ts'
import { linesOf } from './verdict.ts'

/**
 * What is wrong by all invariants with the work that crowds were given, once it has come to rest; one line each.
 * @param among the devices that it is about; absent: nobody else has work on this system
 */
export async function brokenIn(
  system: System,
  crowds: readonly Crowd[],
  accepted: readonly Accepted[],
  { asked = [], among }: { asked?: readonly Asked[]; among?: ReadonlySet<string> } = {},
): Promise<string[]> {
  // A crowd that was brought back has the folder of the one before.
  const byFolder = [...new Map(crowds.map((crowd) => [crowd.folder, crowd])).values()]
  const effects = byFolder.flatMap((crowd) => crowd.executions())
  const ledgers = byFolder.flatMap(({ folder }) => fleetLedgers(folder))
  const testimony = { accepted, asked, effects, ledgers, ...(among && { devices: among }) }
  return linesOf(await check(system, testimony))
}
