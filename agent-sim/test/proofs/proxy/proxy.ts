import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../../../control-plane/test/harness/database.ts'
import { freePort } from '../../../../tools/services.ts'
import { startSystem, type System } from '../../system/harness/system.ts'
import { type FleetProcess, onlineAfter, startFleetProcess } from '../fleets.ts'
import { type Haproxy, startHaproxy } from '../haproxy.ts'
import { none, type Row, within } from '../verdict.ts'
import { offlineEvents } from '../watch.ts'
import { claimRows, type Doors } from './claims.ts'
import { enrollFrom } from './callers.ts'
import { silenceRows } from './silent.ts'

export const proxyPlants = ['first-line', 'trusts-everybody', 'no-pings'] as const
export type ProxyPlant = (typeof proxyPlants)[number]

export interface BehindProxy {
  /** how long agents have nothing to say but their heartbeats */
  seconds: number
  agents: number
  seed: number
  /**
   * guards that are taken away: gateways read the first line of `X-Forwarded-For` alone; servers trust every address; neither agents
   * nor gateways ping
   */
  plants?: readonly ProxyPlant[]
  database?: TestDatabase | undefined
  say: (line: string) => void
}

/** The address from which the proxy calls, the only one that is trusted. */
const source = '127.0.0.2'
const onlineWithinMs = 120_000
const slackMs = 3_000

/**
 * Seconds as they are in the field, with heartbeats that alone would keep no connection, or for a short run everything at a tenth, and
 * the engine's least for what cannot be less.
 */
const paceOf = (seconds: number) =>
  seconds >= 180
    ? { heartbeat: 65, proxyIdle: 60, gatewayIdle: 56, keepalive: 40 }
    : { heartbeat: 7, proxyIdle: 6, gatewayIdle: 8, keepalive: 4 }

/**
 * The product behind a proxy that it does not know, which cuts what is silent for as long as agents are between heartbeats. Judged
 * by Postgres alone: who called is who it says, and every agent is on the connection that it had at the beginning.
 */
export async function behindProxy(options: BehindProxy): Promise<Row[]> {
  const { plants = [], database, say } = options
  const pace = paceOf(options.seconds)
  const has = (plant: ProxyPlant) => plants.includes(plant)
  const [http, agents, mqtt] = await Promise.all([freePort(), freePort(), freePort()])
  const system = await startSystem({
    ...(database && { database }),
    variables: {
      TRUSTED_PROXIES: has('trusts-everybody') ? '127.0.0.0/8' : `${source}/32`,
      HEARTBEAT_INTERVAL_MS: String(pace.heartbeat * 1000),
      GONE_AFTER_MS: String(pace.heartbeat * 1500),
      SILENT_AFTER_MS: String(pace.heartbeat * 2500),
      GATEWAY_IDLE_SECONDS: String(has('no-pings') ? 960 : pace.gatewayIdle),
      GATEWAY_URLS: [
        `ws://127.0.0.1:${http}/agent`,
        `ws://127.0.0.1:${http}/mqtt`,
        `mqtt://127.0.0.1:${mqtt}`,
      ].join(),
      ...(has('first-line') && { SVC_TEST_WITHOUT: 'all_forwarded_lines' }),
    },
  })
  const port = (url = '') => Number(new URL(url).port)
  const doors: Doors = {
    http,
    agents,
    mqtt,
    controlPlane: port(system.apiUrl),
    gateway: port(system.gatewayUrls[0]),
    gatewayMqtt: port(system.mqttUrls[0]),
  }
  const started: { haproxy?: Haproxy; fleet?: FleetProcess } = {}
  try {
    started.haproxy = await startHaproxy({
      file: join(import.meta.dirname, 'haproxy.cfg'),
      variables: {
        IDLE: `${pace.proxyIdle}s`,
        SOURCE: source,
        HTTP_BIND: `127.0.0.1:${http}`,
        AGENTS_BIND: `127.0.0.1:${agents}`,
        MQTT_BIND: `127.0.0.1:${mqtt}`,
        CONTROL_PLANE: `127.0.0.1:${doors.controlPlane}`,
        GATEWAY: `127.0.0.1:${doors.gateway}`,
        GATEWAY_MQTT: `127.0.0.1:${doors.gatewayMqtt}`,
      },
    })
    const switches = {
      '--transport': 'mix',
      '--seed': String(options.seed),
      '--mqtt-keepalive': String(has('no-pings') ? 960 : pace.keepalive),
    }
    started.fleet = await startFleetProcess(system, 'idle', options.agents, switches)
    const onlineMs = await onlineAfter(system, started.fleet, onlineWithinMs)
    if (!Number.isFinite(onlineMs)) throw new Error('the agents do not come online')
    say(`${options.agents} agents are connected through the proxy, which cuts after ${pace.proxyIdle} s`)
    const [idle, claims, silence] = await Promise.all([
      idleRows(system, started.fleet, options.seconds, pace.heartbeat),
      claimRows(system, doors),
      silent(system, doors, pace),
    ])
    return [...claims, ...idle, ...silence]
  } finally {
    say('ending what was started')
    await started.fleet?.program.kill()
    await started.haproxy?.kill()
    await system.close()
  }
}

const silent = async (system: System, doors: Doors, pace: ReturnType<typeof paceOf>): Promise<Row[]> => {
  const facts = { osType: 'linux', architecture: 'amd64', agentVersion: '0.0.0' }
  const identities = await Promise.all(
    [1, 2, 3].map((n) =>
      enrollFrom(
        system.apiUrl,
        { enrollmentKey: system.tenant.enrollmentKey, hostname: `silent-${n}`, ...facts },
        { from: '127.0.2.1' },
      ),
    ),
  )
  return silenceRows(doors, identities, { idleSeconds: pace.gatewayIdle, keepaliveSeconds: pace.keepalive })
}

/** Who has another epoch than at the beginning has connected anew. */
async function idleRows(
  system: System,
  fleet: FleetProcess,
  seconds: number,
  heartbeatSeconds: number,
): Promise<Row[]> {
  const ids = fleet.devices.map(({ deviceId }) => deviceId)
  const before = await epochsOf(system, ids)
  await sleep(seconds * 1000)
  const after = await epochsOf(system, ids)
  const offline = await offlineEvents(system.sql)
  const anew = ids.filter((id) => before.get(id)?.epoch !== after.get(id)?.epoch)
  const ages = [...after.values()].map(({ ageMs }) => ageMs)
  return [
    none(`of ${ids.length} idle agents, those that connected anew within ${seconds} s`, anew),
    none(
      '… or counted as offline',
      ids.filter((id) => offline.has(id)),
    ),
    within('… and their oldest contact at the end', heartbeatSeconds * 1200 + slackMs, ages),
  ]
}

async function epochsOf({ sql }: System, ids: readonly string[]) {
  const rows = await sql<{ deviceId: string; epoch: number; ageMs: number }[]>`
    select device_id, epoch, (extract(epoch from now() - last_seen_at) * 1000)::float8 as age_ms
    from device_presence where device_id = any(${[...ids]}::uuid[])`
  return new Map(rows.map(({ deviceId, ...row }) => [deviceId, row]))
}
