import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@svc/control-plane'
import { agentVersion } from '../../../agent-sim/src/version.ts'
import type { DataFolder } from '../data-folder.ts'

/** Agents connect first: nobody waits for this. */
const afterMs = 2_000

/**
 * Makes the version of the agents that run here a release, built and registered once, so that there is something to install and to
 * compare with. Does nothing where releases come from elsewhere.
 */
export async function releaseOwnAgent(
  controlPlane: ControlPlane,
  folder: DataFolder,
  signal: AbortSignal,
): Promise<void> {
  const { config } = controlPlane.ports
  if (config.binarySource !== 'local' || config.binaryDir !== folder.releases) return
  await sleep(afterMs, undefined, { signal })
  if (existsSync(join(folder.releases, agentVersion))) return
  // Only a first start needs to know how.
  const { publish } = await import('../../release/publish.ts')
  await publish(folder, { version: agentVersion }, () => controlPlane.registerRelease(agentVersion))
}
