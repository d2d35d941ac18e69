import type { TestDatabase } from '../../../../control-plane/test/harness/database.ts'
import { freePort } from '../../../../tools/services.ts'
import { startSystem, type System } from '../../system/harness/system.ts'
import { until } from '../../system/harness/until.ts'
import { randomFrom } from '../random.ts'
import { none, passed, type Row, seconds, tableOf } from '../verdict.ts'
import { Bystanders } from './bystanders.ts'
import { type Counts, sumOf } from './counts.ts'
import { directed } from './directed.ts'
import { fuzz } from './fuzz.ts'
import { metricOf } from './metrics.ts'
import { processesOf, samePids } from './processes.ts'
import { narrowLimits, reach } from './reasons.ts'
import { reasonRows } from './reason-rows.ts'
import { Scene } from './scene.ts'
import { resets, slowAndHalf } from './slow.ts'
import { hostileFrames } from './storm.ts'
import { strangers } from './strangers.ts'

/** Guards of the gateway that can be taken away. */
export const hostilePlants = ['malformed-close', 'decode-guard', 'error-guard', 'hello-deadline'] as const
export type HostilePlant = (typeof hostilePlants)[number]

export interface Hostile {
  /** per transport */
  frames: number
  /** devices that misbehave */
  agents: number
  seed: number
  /** what takes long only once, nothing that a busy machine would decide, and no ten thousand strangers */
  short?: boolean
  plant?: HostilePlant | undefined
  /** where the rows are kept; by default a database of the test run's server */
  database?: TestDatabase | undefined
  say: (line: string) => void
}

const collecting = new URL('collect.mjs', import.meta.url).href
const strangerCount = 10_000
const tornConnections = { long: 6_000, short: 200 }
const settledWithinMs = 120_000
/** Nobody is missed for being silent while something else is looked at. */
const heartbeatMs = 20_000

/**
 * Whatever peers say, and however they come and go: it ends their own connections, with a reason, and costs nobody else anything.
 * Two workers under their supervisor, as in production.
 */
export async function hostile(options: Hostile): Promise<Row[]> {
  const { database, plant } = options
  const metricsPort = await freePort()
  const system = await startSystem({
    gateways: 2,
    ...(database && { database }),
    variables: {
      HEARTBEAT_INTERVAL_MS: String(heartbeatMs),
      GATEWAY_WORKERS: '2',
      ...(!options.short && { NODE_OPTIONS: `--import ${collecting}` }),
      GATEWAY_METRICS_PORT: String(metricsPort),
      // A device that gives itself one name after another is taken for two and cut off, rightly: here it is to go on.
      SVC_TEST_WITHOUT: ['copies', ...(plant ? [plant.replaceAll('-', '_')] : [])].join(),
    },
    variablesOfLast: {
      GATEWAY_WORKERS: '1',
      GATEWAY_METRICS_PORT: 'off',
      // Nobody is there: who is not known to Redis cannot be decided about.
      EXCHANGE_URL: `http://127.0.0.1:${await freePort()}/`,
      SVC_TEST_LIMITS: Object.entries(narrowLimits)
        .map(([name, value]) => `${name}=${value}`)
        .join(),
      // Beside what is judged: to see what judges find something.
      SVC_TEST_WITHOUT: 'decode_guard',
    },
  })
  try {
    return await new Run(system, metricsPort, options).rows()
  } finally {
    options.say('ending what was started')
    await system.close()
  }
}

/** What cannot be gone through with to its end has failed as well. */
const ended = (what: string, rows: Promise<Row[]>): Promise<Row[]> =>
  rows.catch((error: Error) => [none(`what broke off ${what}`, [error.message])])

class Run {
  readonly #system: System
  readonly #metricsPort: number
  readonly #options: Hostile
  readonly #rows: Row[] = []

  constructor(system: System, metricsPort: number, options: Hostile) {
    this.#system = system
    this.#metricsPort = metricsPort
    this.#options = options
  }

  async rows(): Promise<Row[]> {
    const { frames, agents, seed, short = false, say } = this.#options
    const system = this.#system
    const metricsPort = this.#metricsPort
    const api = await system.admin()
    const [scene, narrow] = [new Scene(system, api), new Scene(system, api, 1)]
    await until(
      'both workers accept agents',
      async () => (await metricOf(metricsPort, 'svc_edge_supervisor_workers')) === 2,
    )
    const processes = processesOf(system, 0)
    const bystanders = await Bystanders.start(scene)
    const timed = !short
    const step = async (during: string, work: () => Promise<Row[]>) => {
      const rows = [
        ...(await ended(during, work())),
        ...(await ended(during, bystanders.rows(during, timed))),
      ]
      this.#rows.push(...rows)
      say(passed(rows) ? during : `${during}\n${tableOf(rows)}`)
    }
    try {
      // First, while nothing else has left the processes room.
      if (!short)
        await step('while ten thousand strangers come', () =>
          strangers(scene, processes, strangerCount, true),
        )
      let reasons: Counts = new Map()
      await step('while each reason is come to', async () => {
        const what = 'while each reason is come to'
        const parts = [
          ended(what, directed(scene)),
          ended(what, slowAndHalf(scene, short)),
          reach({ scene, narrow, metricsPort }, short).then((reached) => {
            reasons = reached.reasons
            return [none('reasons that a peer did not come to as it must', reached.faults)]
          }),
        ]
        return (await Promise.all(parts)).flat()
      })
      await step('while connections are torn down', async () => [
        await resets(scene, tornConnections[short ? 'short' : 'long'], randomFrom(seed)),
      ])
      await step('while frames are mutated', async () => {
        const storm = await hostileFrames({ frames, agents, seed, system, api, say })
        reasons = sumOf(reasons, storm.reasons)
        return storm.rows
      })
      await step('in the end', async () => [
        ...reasonRows(scene.schema, reasons, await metricOf(metricsPort, 'svc_edge_errors_total')),
        samePids(processes, processesOf(system, 0)),
        ...(await Promise.all([this.#worked(), this.#planted(scene, narrow)])),
      ])
      return this.#rows
    } finally {
      bystanders.close()
    }
  }

  /** Whatever went up until now is worked off: nothing of it stops the control plane. */
  async #worked(): Promise<Row> {
    const what = 'shards of which the control plane has taken in all that was said'
    const said = new Date()
    const behind = async () => {
      const rows = await this.#system.sql<{ shard: number }[]>`
        select distinct shard from edge_watermarks join gateway_nodes using (node)
        where lease_until > now() and through < ${said}`
      return rows.length
    }
    const pass = await until(what, async () => (await behind()) === 0, settledWithinMs).then(
      () => true,
      () => false,
    )
    const tookMs = Date.now() - said.getTime()
    return {
      what,
      expected: 'all',
      seen: pass ? `all, after ${seconds(tookMs)}` : `${await behind()} are behind`,
      pass,
    }
  }

  /** The same judge at a gateway with a guard less: it has to find something. */
  async #planted(scene: Scene, narrow: Scene): Promise<Row> {
    const identity = await scene.device()
    const known = await scene.enter('websocket', identity)
    known.reset()
    const { seed } = this.#options
    const told = await fuzz({
      transport: 'websocket',
      url: narrow.doors.websocket,
      identities: [identity],
      frames: 2_000,
      seed,
      enough: 1,
      say: () => undefined,
    })
    const seen = told.faults.length > 0 ? `${told.faults.length} faults` : 'nothing'
    const pass = told.faults.some((fault) => fault.includes('INTERNAL_ERROR'))
    return {
      what: 'the same at a gateway that takes what does not decode for an error of its own',
      expected: 'faults',
      seen,
      pass,
    }
  }
}
