import type { Ground } from '../method/contract.ts'
import { collectable, type Measured } from '../method/memory.ts'
import { cores, pin } from '../method/pin.ts'
import { mosquittoVersion, startMosquitto } from '../peers/mosquitto.ts'
import { versionOf } from '../peers/versions.ts'
import type { Identity, Kind } from '../wire/connection.ts'
import type { Program } from '../wire/built.ts'
import { type Served, startServed } from '../wire/calls.ts'
import type { Site } from './site.ts'

/** A server that is up: what it is measured by, and how clients reach it. */
export interface Server extends Measured {
  port: number
  kind: Kind
  tls: boolean
  /** it answers each heartbeat */
  answers: boolean
  /** who connects to it, where it lets nobody else in; absent: the devices of the site */
  agents?: readonly Identity[]
  /** a call to the peer's own process */
  call?: Served['call']
  /** of a gateway: its name on the bus */
  node?: string
  stop: () => Promise<void>
}

/** One who takes part, by its name in the result. */
export interface Side {
  name: string
  start: () => Promise<Server>
}

const lastLines = 5

/** What to do with a failure at a side: say at which, and what its server said last. */
export const failedAt =
  ({ name }: Side, { log }: Server) =>
  (error: Error): never => {
    const last = log?.().trimEnd().split('\n').slice(-lastLines) ?? []
    throw new Error([`${name}: ${error.message}`, ...last].join('\n  '), { cause: error })
  }

type Tls = { certFile: string; keyFile: string }

/** Our gateway, reached in one of its ways. */
export const ours = (site: Site, kind: Exclude<Kind, 'meshcentral'>, tls?: Tls): Side => {
  const way = tls ? 'tls' : kind === 'svc' ? undefined : kind
  return {
    name: way ? `ours:${way}` : 'ours',
    start: async () => {
      const gateway = await site.gateway(tls ? { tls } : {})
      return { ...gateway, port: gateway.port[kind], kind, tls: tls !== undefined, answers: true }
    },
  }
}

/** A peer of this repository's own, started from a file beside it. */
export async function serve(
  ground: Ground,
  program: Program,
  argument: object,
): Promise<{ served: Served; port: number }> {
  const served = await startServed(program, collectable)
  ground.afterwards(() => served.kill())
  pin(served.pid, cores.server)
  return { served, port: (await served.call('listen', argument)) as number }
}

export function ws(ground: Ground, tls?: Tls): Side {
  const name = tls ? 'ws:tls' : 'ws'
  ground.peer({
    name,
    version: versionOf('ws'),
    configuration: `perMessageDeflate off, one process, keeps no session and no timer${tls ? ', node:tls, TLS 1.3, P-256' : ''}`,
  })
  return {
    name,
    start: async () => {
      const { served, port } = await serve(ground, 'ws', tls ?? {})
      return {
        pid: served.pid,
        log: served.log,
        port,
        kind: 'svc',
        tls: tls !== undefined,
        answers: true,
        stop: served.kill,
      }
    },
  }
}

export function aedes(ground: Ground): Side {
  const name = 'aedes'
  ground.peer({
    name,
    version: versionOf('aedes'),
    configuration:
      'node:net, one process, in-memory persistence, no authentication, QoS 0, keepalive 1,200 s',
  })
  return {
    name,
    start: async () => {
      const { served, port } = await serve(ground, 'aedes', {})
      return {
        pid: served.pid,
        log: served.log,
        port,
        kind: 'mqtt',
        tls: false,
        answers: false,
        call: served.call,
        stop: served.kill,
      }
    },
  }
}

/** Undefined where it is not installed: then the run says so and goes on without it. */
export function mosquitto(ground: Ground, kind: 'mqtt' | 'mqtt-ws'): Side | undefined {
  const name = kind === 'mqtt' ? 'mosquitto' : 'mosquitto:websocket'
  const version = mosquittoVersion()
  const configuration = 'one thread, persistence off, no authentication, QoS 0, keepalive 1,200 s'
  if (version === undefined) {
    ground.peer({
      name,
      configuration,
      skipped: 'there is no /usr/sbin/mosquitto: apt-get install mosquitto',
    })
    return undefined
  }
  ground.peer({ name, version, configuration })
  return {
    name,
    start: async () => {
      const { pid, port, stop } = await startMosquitto(ground.folder, kind)
      ground.afterwards(stop)
      pin(pid, cores.server)
      return { pid, port, kind, tls: false, answers: false, stop }
    },
  }
}
