import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../../../control-plane/test/harness/database.ts'
import { Api } from '../../system/harness/api.ts'
import { until } from '../../system/harness/until.ts'
import { startSystem, type System } from '../../system/harness/system.ts'
import { playOnce } from '../play-once.ts'
import { randomFrom } from '../random.ts'
import { enroll } from '../../system/harness/voice.ts'
import { all, none, passed, type Row, seconds } from '../verdict.ts'
import { Comparison, type Faults } from './compare.ts'
import { Device, partings, type Tally } from './device.ts'
import { Gateways } from './gateways.ts'
import { disturb, playDevice, type Weather } from './play.ts'

export const presencePlants = ['epochs'] as const
export type PresencePlant = (typeof presencePlants)[number]

export interface Presence {
  agents: number
  seed: number
  /** sequences of events that are played, over all devices; rounds of all are played until there were so many */
  interleavings: number
  /** a guard that is taken away: what gateways say of connections that are over counts */
  plant?: PresencePlant | undefined
  /** where the rows are kept; by default a database of the test run's server */
  database?: TestDatabase | undefined
  say: (line: string) => void
}

/** What is waited for, at a fraction of its times. Nobody beats by itself: a heartbeat would mend what a late word has broken. */
const variables = {
  HEARTBEAT_INTERVAL_MS: '600000',
  SILENT_AFTER_MS: '600000',
  GONE_AFTER_MS: '2000',
  NODE_LEASE_MS: '8000',
}
/** Shorter than a node's lease, less the time between two renewals of it. */
const weather: Weather = { deaths: true, pauseMs: 2_500 }
/** Batches of gateways go up within a quarter of a second, and all that was asked of a gateway is answered when it goes on. */
const heldWithinMs = 15_000
/** A dead gateway's lease, its devices' silence, the next watermarks of shards at rest, on a busy machine. */
const unheldWithinMs = 45_000
/** Without the guard this does not become right, however long it is waited for. */
const plantedWithinMs = 4_000
const lookEveryMs = 200
/** So many times what was asked for is played at most for a kind of event that has not happened yet. */
const most = 4
const atOnce = 32

const atLeast = (what: string, least: number, seen: number): Row => ({
  what,
  expected: `≥ ${least}`,
  seen: String(seen),
  pass: seen >= least,
})

/**
 * Devices connect, take over and leave at three gateways in random order, while those are paused, die and wake with what they
 * believed; then Postgres, the claims in Redis and the connections are compared with a model of what may be so (promise P8).
 */
export const presence = (options: Presence): Promise<Row[]> => playOnce(Stage, options)

/** The system with its devices, on which one play may follow another. */
export class Stage {
  readonly system: System
  readonly #devices: Device[]
  readonly #gateways: Gateways
  readonly #comparison: Comparison
  readonly #tally: Tally
  #plant: PresencePlant | undefined

  private constructor(system: System, devices: Device[], gateways: Gateways, tally: Tally) {
    this.system = system
    this.#devices = devices
    this.#gateways = gateways
    this.#comparison = new Comparison(system.sql, system.redis.url, gateways)
    this.#tally = tally
  }

  static async open({ agents, database, say }: Presence): Promise<Stage> {
    const system = await startSystem({ gateways: 3, variables, ...(database && { database }) })
    try {
      const gateways = new Gateways(system)
      const tally: Tally = new Map()
      const api = new Api(system.apiUrl)
      const devices: Device[] = []
      for (let n = 0; n < agents; n += atOnce) {
        const numbers = Array.from({ length: Math.min(atOnce, agents - n) }, (_, at) => n + at)
        const enrolled = await Promise.all(numbers.map((at) => enroll(api, system, `device-${at}`)))
        devices.push(...enrolled.map((identity) => new Device(identity, gateways, tally)))
      }
      say(`${agents} devices are enrolled`)
      return new Stage(system, devices, gateways, tally)
    } catch (error) {
      await system.close()
      throw error
    }
  }

  /** Plays rounds until one is not as it must be, or enough was played and each kind of event happened. */
  async play({ interleavings, seed, plant, say }: Presence): Promise<Row[]> {
    await this.#set(plant)
    const random = randomFrom(seed)
    for (let played = 0; ; ) {
      await this.#round(random)
      played += this.#devices.length
      const rows = await this.#judge(say)
      say(
        `${played} interleavings; ${this.#gateways.pauses} pauses and ${this.#gateways.deaths} deaths of gateways`,
      )
      const isEnough =
        played >= interleavings && (this.#missing().length === 0 || played >= most * interleavings)
      if (isEnough || !passed(rows))
        return [
          atLeast('interleavings', interleavings, played),
          none('kinds of events that did not happen', this.#missing()),
          ...rows,
        ]
    }
  }

  /** One device that comes back without a gap, so many times: beside the connection that it has, or right after it ended that. */
  async reconnects(times: number): Promise<Row[]> {
    const api = new Api(this.system.apiUrl)
    const device = new Device(
      await enroll(api, this.system, 'restless'),
      this.#gateways,
      new Map() satisfies Tally,
    )
    this.#devices.push(device)
    for (let n = 0; n < times; n++) {
      const how = partings[n % (partings.length + 1)]
      if (how) for (const connection of device.model.open) device.part(connection, how)
      await device.connect(n % this.#gateways.count)
    }
    const welcomed = device.model.connections.filter(({ epoch }) => epoch !== undefined)
    const faults = await this.#settled('held', heldWithinMs)
    return [
      all('connections that were welcomed', times, welcomed.length),
      none('devices with a connection that are not as the model has them', faults),
      all('connections that are open at the end', 1, device.model.open.length),
      none('connections that do not carry both ways', await this.#unheard()),
    ]
  }

  async close(): Promise<void> {
    for (const device of this.#devices) device.close()
    this.#comparison.close()
    await this.system.close()
  }

  async #set(plant: PresencePlant | undefined): Promise<void> {
    if (plant === this.#plant) return
    this.#plant = plant
    await this.system.worker.terminate()
    await this.system.startRole('worker', plant ? { SVC_TEST_WITHOUT: plant } : {})
  }

  async #round(random: () => number): Promise<void> {
    // Each device has dice of its own: how fast another one is changes nothing of what it does.
    const plays = this.#devices.map((device) =>
      playDevice(device, this.#gateways, randomFrom(1 + Math.floor(random() * 2 ** 40))),
    )
    const over = Promise.all(plays)
    // Only what holds a connection when a gateway stalls can be late: on a busy machine the first one takes a while.
    await until('a quarter of the devices hold a connection', () => 4 * this.#holders() >= plays.length)
    // What is only late or lost is what the guard is for; it needs no deaths to be missed.
    await disturb(this.#gateways, { ...weather, deaths: !this.#plant }, random, over)
    await over
    await Promise.all(this.#devices.map((device) => device.answered()))
  }

  #holders(): number {
    return this.#devices.filter(({ model }) => model.open.length > 0).length
  }

  async #judge(say: (line: string) => void): Promise<Row[]> {
    const began = performance.now()
    const held = await this.#settled('held', this.#plant ? plantedWithinMs : heldWithinMs)
    const rows = [none('devices with a connection that are not as the model has them', held)]
    if (this.#plant) return rows
    const unheard = await this.#unheard()
    const still = await this.#settled('held', heldWithinMs, true)
    say(`who holds a connection is known rightly after ${seconds(performance.now() - began)}`)
    const unheld = await this.#settled('unheld', unheldWithinMs)
    say(`who holds none, after ${seconds(performance.now() - began)}`)
    return [
      ...rows,
      none('connections that do not carry both ways', unheard),
      none('devices that are not as the model has them once they were heard', still),
      none('devices without one that are not as the model has them', unheld),
    ]
  }

  /** The faults of that kind when there are none, or when it has been waited for long enough. */
  async #settled(kind: keyof Faults, withinMs: number, heard = false): Promise<string[]> {
    for (const patience = performance.now() + withinMs; ; await sleep(lookEveryMs)) {
      const faults = (await this.#comparison.faults(this.#devices, heard))[kind]
      if (faults.length === 0 || performance.now() > patience) return faults
    }
  }

  async #unheard(): Promise<string[]> {
    const asked = this.#devices.flatMap((device) =>
      device.model.open.map(async (connection) =>
        (await device.isHeard(connection)) ? [] : [`device ${device.id}`],
      ),
    )
    return (await Promise.all(asked)).flat()
  }

  #missing(): string[] {
    const wanted = ['connect', 'takeover', 'heartbeat', ...partings].flatMap((kind) => [kind, `late ${kind}`])
    const missing = wanted.filter((kind) => !this.#tally.has(kind))
    if (this.#gateways.pauses === 0) missing.push('pause')
    if (!this.#plant && this.#gateways.deaths === 0) missing.push('death')
    return missing
  }
}
