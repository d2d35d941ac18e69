import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { Ground } from '../method/contract.ts'
import { makeMeshcentralData, meshcentralHash } from '../peers/meshcentral/data.ts'
import { makeMeshIdentities } from '../peers/meshcentral/identities.ts'
import { installMeshcentral, meshcentralVersion } from '../peers/meshcentral/install.ts'
import { hashBytes } from '../wire/meshcentral.ts'
import type { Identity } from '../wire/connection.ts'
import { type Server, serve, type Side } from './sides.ts'

const name = 'meshcentral'
/** Connections at most: it takes milliseconds to let one in, and keys of its own for each. */
const mostAgents = 5_000

/**
 * MeshCentral, on plain HTTP, with agents of its own. Undefined in a quick run and where it cannot be had: then the run says so and goes
 * on without it.
 */
export async function meshcentral(ground: Ground, install = installMeshcentral): Promise<Side | undefined> {
  const count = Math.min(mostAgents, ground.scale)
  const peer = {
    name,
    configuration: `NeDB, one process, TLS offloaded (plain HTTP), ${count.toLocaleString('en')} connections, RSA 2048, agents without JavaScript that do not ask for the server's signature`,
  }
  if (ground.quick) {
    ground.peer({ ...peer, skipped: 'full runs alone measure it: its agents need keys first' })
    return undefined
  }
  try {
    const start = await prepare(ground, count, install)
    ground.peer({ ...peer, version: meshcentralVersion })
    return { name, start }
  } catch (error) {
    ground.peer({ ...peer, skipped: `it cannot be had: ${(error as Error).message}` })
    return undefined
  }
}

/** Installs it, and starts it once so that it makes its certificates; each server begins with a copy of what that left. */
async function prepare(
  ground: Ground,
  count: number,
  install: typeof installMeshcentral,
): Promise<() => Promise<Server>> {
  const installed = await install((line) => ground.progress(line))
  ground.progress(`making the certificates of ${name} and of ${count} agents`)
  const template = join(ground.folder, name)
  await makeMeshcentralData(installed, template)
  const first = await serve(ground, name, { installed, data: template })
  await first.served.kill()
  const [serverHash, group] = [meshcentralHash(template), randomBytes(hashBytes).toString('base64')]
  const agents: Identity[] = makeMeshIdentities(ground.folder, count).map((identity, number) => ({
    deviceId: `${name}-${number}`,
    mesh: { ...identity, serverHash, group },
  }))
  let started = 0
  return async () => {
    const data = `${template}-${++started}`
    cpSync(template, data, { recursive: true })
    const { served, port } = await serve(ground, name, { installed, data })
    return {
      pid: served.pid,
      log: served.log,
      port,
      kind: name,
      tls: false,
      answers: true,
      agents,
      stop: served.kill,
    }
  }
}
