import { startChild } from '../../../../tools/services/child.ts'
import type { Ground } from '../../method/contract.ts'
import { builtProgram } from '../../wire/built.ts'
import { pinServers } from '../stage/pin.ts'
import type { Stage } from '../stage/stage.ts'

/** A server to compare with, in a process of its own on the server's core. */
export interface PeerServer {
  pid: number
  url: string
}

/** @param connections to the database: as many as the product's pool has */
export async function startPeer(
  ground: Ground,
  stage: Stage,
  name: 'fastify' | 'http',
  connections: number,
): Promise<PeerServer> {
  let url = ''
  const child = await startChild({
    name,
    command: process.execPath,
    args: [await builtProgram(name)],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_ENV: 'production',
      DATABASE_URL: stage.databaseUrl,
      CONNECTIONS: String(connections),
      USER_ID: stage.place.userId,
    },
    ready: /listening at (\S+)/,
    readyWithinMs: 30_000,
    stopSignal: 'SIGTERM',
    onLog: (line) => {
      url ||= /listening at (\S+)/.exec(line)?.[1] ?? ''
    },
  })
  ground.afterwards(() => child.stop())
  pinServers(child.pid)
  return { pid: child.pid, url }
}
