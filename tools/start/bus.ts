import { findRedisServer, startRedis } from '../services.ts'
import { Expected } from './options.ts'
import type { Running } from './stack.ts'

/** What carries messages between gateway and control plane; without a URL it is memory, in one process. */
export interface Carrier {
  url?: string
  /** For people. */
  what: string
  running?: Running
}

/** Redis where `REDIS_URL` names one or this machine can run one of our own; never one that happens to run here. */
export async function openCarrier(dir: string, wanted: 'redis' | 'memory' | undefined): Promise<Carrier> {
  const given = process.env['REDIS_URL']
  if (wanted !== 'memory' && given) return { url: given, what: 'Redis of REDIS_URL' }
  const installed = findRedisServer()
  if (wanted === 'memory' || (!installed && wanted === undefined))
    return { what: 'bus in memory: control plane and gateway in one process, this machine only' }
  if (!installed)
    throw new Expected(
      'There is no redis-server on PATH: install it, name one with REDIS_URL, or use --bus memory',
    )
  const server = await startRedis({ dir, command: installed })
  return {
    url: server.url,
    what: `Redis, own, on port ${server.port}`,
    running: {
      name: 'Redis',
      stop: server.stop,
      kill: server.kill,
      exited: server.exited.then(() => 'ended'),
    },
  }
}
