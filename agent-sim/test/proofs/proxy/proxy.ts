import { playOnce } from '../play-once.ts'
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
import { silenceRows, slackMs as cutSlackMs } from './silent.ts'

export const proxyPlants = ['first-line', 'trusts-everybody', 'no-pings'] as const
export type ProxyPlant = (typeof proxyPlants)[number]

export interface BehindProxy {
  /** how long agents have nothing to say but their heartbeats */
  seconds: number
  agents: number
  seed: number
  /**
   * guards that are taken away: gateways read the first line of `X-Forwarded-For` alone; they trust every address; neither agents nor
   * gateways ping
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
export const behindProxy = (options: BehindProxy): Promise<Row[]> => playOnce(Stage, options)

/** The system and its proxy, on which one play may follow another. */
export class Stage {
  readonly #system: System
  readonly #haproxy: Haproxy
  readonly #doors: Doors
  readonly #fleets: FleetProcess[] = []

  private constructor(system: System, haproxy: Haproxy, doors: Doors) {
    this.#system = system
    this.#haproxy = haproxy
    this.#doors = doors
  }

  static async open({ seconds, database }: BehindProxy): Promise<Stage> {
    const pace = paceOf(seconds)
    const [http, agents, mqtt] = await Promise.all([freePort(), freePort(), freePort()])
    const system = await startSystem({
      ...(database && { database }),
      variables: {
        TRUSTED_PROXIES: `${source}/32`,
        HEARTBEAT_INTERVAL_MS: String(pace.heartbeat * 1000),
        GONE_AFTER_MS: String(pace.heartbeat * 1500),
        SILENT_AFTER_MS: String(pace.heartbeat * 2500),
        GATEWAY_IDLE_SECONDS: String(pace.gatewayIdle),
        GATEWAY_URLS: [
          `ws://127.0.0.1:${http}/agent`,
          `ws://127.0.0.1:${http}/mqtt`,
          `mqtt://127.0.0.1:${mqtt}`,
        ].join(),
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
    const haproxy = await startHaproxy({
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
    }).catch(async (error: Error) => {
      await system.close()
      throw error
    })
    return new Stage(system, haproxy, doors)
  }

  async play({ seconds, agents, seed, plants = [], say }: BehindProxy): Promise<Row[]> {
    const pace = paceOf(seconds)
    const system = this.#system
    await Promise.all(this.#fleets.map(({ program }) => program.kill()))
    if (plants.length > 0) {
      await system.gateway(0).kill()
      await system.startGateway(0, withoutGuards(plants))
    }
    const fleet = await startFleetProcess(system, `idle${this.#fleets.length}`, agents, {
      '--transport': 'mix',
      '--seed': String(seed),
      '--mqtt-keepalive': String(plants.includes('no-pings') ? never : pace.keepalive),
    })
    this.#fleets.push(fleet)
    const onlineMs = await onlineAfter(system, fleet, onlineWithinMs)
    if (!Number.isFinite(onlineMs)) throw new Error('the agents do not come online')
    say(`${agents} agents are connected through the proxy, which cuts after ${pace.proxyIdle} s`)
    const [idle, claims, silence] = await Promise.all([
      idleRows(system, fleet, seconds, pace.heartbeat),
      claimRows(system, this.#doors),
      silent(system, this.#doors, pace, plants.includes('no-pings') ? plantedSlackMs : cutSlackMs),
    ])
    return [...claims, ...idle, ...silence]
  }

  async close(): Promise<void> {
    await Promise.all(this.#fleets.map(({ program }) => program.kill()))
    await this.#haproxy.kill()
    await this.#system.close()
  }
}

/** Seconds; the longest that can be timed. */
const never = 960

/** Of the gateway. */
const withoutGuards = (plants: readonly ProxyPlant[]): Record<string, string> => ({
  ...(plants.includes('first-line') && { SVC_TEST_WITHOUT: 'all_forwarded_lines' }),
  ...(plants.includes('trusts-everybody') && { TRUSTED_PROXIES: '127.0.0.0/8' }),
  ...(plants.includes('no-pings') && { GATEWAY_IDLE_SECONDS: String(never) }),
})

/** Without its guard the gateway cuts nobody: there is no need to wait for it. */
const plantedSlackMs = 500

const silent = async (
  system: System,
  doors: Doors,
  pace: ReturnType<typeof paceOf>,
  slackMs: number,
): Promise<Row[]> => {
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
  return silenceRows(doors, identities, {
    idleSeconds: pace.gatewayIdle,
    keepaliveSeconds: pace.keepalive,
    slackMs,
  })
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
