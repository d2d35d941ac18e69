import { join } from 'node:path'
import { startChild } from '../../../../tools/services/child.ts'
import type { Ground } from '../../method/contract.ts'
import { pinServers } from '../stage/pin.ts'
import type { Stage } from '../stage/stage.ts'

/** A server to compare with, in a process of its own on the server's core. */
export interface PeerServer {
  pid: number
  url: string
}

/** @param file beside this one @param connections to the database: as many as the product's pool has */
export async function startPeer(
  ground: Ground,
  stage: Stage,
  file: 'fastify.ts' | 'http.ts',
  connections: number,
): Promise<PeerServer> {
  let url = ''
  const child = await startChild({
    name: file,
    command: process.execPath,
    args: ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, file)],
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
