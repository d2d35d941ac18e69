import { findRedisServer, startRedis } from '../services.ts'
import { Expected, type StartOptions } from './options.ts'
import type { Running } from './stack.ts'

/** What carries messages between gateway and control plane; without a URL it is memory, in one process. */
export interface Carrier {
  url?: string
  /** For people. */
  what: string
  running?: Running
}

interface Machine {
  url?: string | undefined
  /** a redis-server that can be run */
  command?: string | undefined
}
const machine = (): Machine => ({ url: process.env['REDIS_URL'], command: findRedisServer() })

export type Choice = { url: string } | { command: string } | 'memory'

const missing = 'There is no redis-server on PATH: install it, name one with REDIS_URL'

/**
 * Redis where `REDIS_URL` names one or this machine can run one of our own; never one that happens to run here. Throws
 * {@link Expected} where what is wanted cannot be had.
 */
export function chooseCarrier(
  { bus, gatewayWorkers }: Pick<StartOptions, 'bus' | 'gatewayWorkers'>,
  { url, command } = machine(),
): Choice {
  if (bus !== 'memory' && url) return { url }
  if (bus !== 'memory' && command) return { command }
  if (bus === 'redis') throw new Expected(`${missing}, or use --bus memory`)
  if (gatewayWorkers !== '1')
    throw new Expected(`--gateway-workers ${gatewayWorkers} needs redis. ${missing}, or have one worker`)
  return 'memory'
}

export async function openCarrier(dir: string, choice: Choice): Promise<Carrier> {
  if (choice === 'memory')
    return { what: 'bus in memory: control plane and gateway in one process, this machine only' }
  if ('url' in choice) return { url: choice.url, what: 'Redis of REDIS_URL' }
  const server = await startRedis({ dir, command: choice.command })
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
