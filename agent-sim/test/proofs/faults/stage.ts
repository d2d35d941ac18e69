import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../../tools/services.ts'
import { startSystem } from '../../system/harness/system.ts'
import { Account } from '../account.ts'
import { Cast } from '../cast.ts'
import type { FleetProcess } from '../fleets.ts'
import { Load, type Order } from '../load.ts'
import { OwnPostgres } from '../own-postgres.ts'
import { variablesOf } from '../pace.ts'
import { randomFrom } from '../random.ts'
import { none, passed, type Row, within } from '../verdict.ts'
import type { Fault, Plant } from './fault.ts'
import { faultPace } from './pace.ts'
import { type Props, Scene } from './scene.ts'
import {
  heal,
  layWires,
  takeUp,
  variablesForAgents,
  variablesOfGateway,
  variablesOfPlane,
  type Wires,
} from './wires.ts'

export interface StageOptions {
  /** how long a fault lasts that lasts */
  seconds: number
  agents: number
  /** commands per second */
  rate: number
  seed: number
  say: (line: string) => void
  /** a PostgreSQL of its own, as outside of tests there is no other; faults that strike it have one in any case */
  ownPostgres?: boolean
}

const convergeWithinMs = 60_000
/** What a guard was to prevent does not go away by waiting. */
const convergeWithinMsPlanted = 10_000
const warmUpMs = 1_000

/** Two control planes and two gateways with their agents, on which one fault after the other may be played. */
export class Stage {
  readonly #props: Props
  readonly #options: StageOptions
  readonly #postgres: OwnPostgres | undefined
  readonly #setting: string
  /** what must be in the database, over all plays */
  #known: readonly Order[] = []
  readonly #fleets: FleetProcess[]
  #plays = 0
  #spoilt = false

  private constructor(
    props: Props,
    options: StageOptions,
    own: { postgres: OwnPostgres | undefined; setting: string },
  ) {
    this.#props = props
    this.#options = options
    this.#postgres = own.postgres
    this.#setting = own.setting
    this.#fleets = props.cast.fleets
  }

  /** @param plant whose guard is missing from the start */
  static async open(fault: Fault, options: StageOptions, plant?: Plant): Promise<Stage> {
    const { seconds, agents, say } = options
    const pace = faultPace(seconds)
    const postgres = options.ownPostgres || fault.ownPostgres ? await OwnPostgres.start() : undefined
    const variables = { ...variablesOf(pace), ...fault.variables, ...plant?.variables }
    const laid: { wires?: Wires } = {}
    const metrics = { gateway: await freePort(), controlPlane: await freePort() }
    const system = await startSystem({
      controlPlanes: 2,
      gateways: 2,
      ...(postgres && { database: postgres.database }),
      variables,
      variablesOfFirst: async (environment) => {
        laid.wires = await layWires(environment)
        return {
          gateway: { ...variablesOfGateway(laid.wires), GATEWAY_METRICS_PORT: String(metrics.gateway) },
          controlPlane: {
            ...variablesOfPlane(laid.wires),
            ...(fault.wiredAgents && variablesForAgents(laid.wires)),
            METRICS_PORT: String(metrics.controlPlane),
          },
        }
      },
    }).catch(async (error: Error) => {
      if (laid.wires) takeUp(laid.wires)
      await postgres?.close()
      throw error
    })
    const { wires } = laid
    if (!wires) throw new Error('the system was started without its wires')
    const api = await system.admin()
    const cast = new Cast(system, api, pace.heartbeatMs, say)
    try {
      const crowd = await cast.present('crowd', agents, {
        '--transport': 'mix',
        '--seed': String(options.seed),
      })
      const props = { system, wires, metrics, api, cast, crowd, pace, seconds, say }
      return new Stage(props, options, { postgres, setting: settingOf(fault, plant) })
    } catch (error) {
      await cast.close()
      await system.close()
      takeUp(wires)
      throw error
    }
  }

  /** Whether this fault may be played here, after what was played before. */
  suits(fault: Fault, plant?: Plant): boolean {
    if (this.#spoilt || this.#setting !== settingOf(fault, plant)) return false
    return !fault.ownPostgres || this.#postgres !== undefined
  }

  /** Plays it under load; what the fault itself has to say, and what the checker says. */
  async play(fault: Fault, planted = false): Promise<Row[]> {
    const { system, api } = this.#props
    const random = randomFrom(this.#options.seed + this.#plays++)
    const load = new Load(api, random, {
      withKey: !(planted && fault.plant.withoutKeys),
      // Whoever asks while everything is away is still there when it is back, also from a second outage after the first.
      forMs: 2 * this.#options.seconds * 1_000 + convergeWithinMs,
    })
    load.accepted.push(...this.#known)
    load.targets.push(...this.#props.crowd.devices.map(({ deviceId }) => deviceId))
    const account = new Account(system, this.#fleets, load)
    const scene = new Scene(this.#props, { load, account, random, planted, postgres: this.#postgres })
    this.#fleets.push({
      ...this.#props.crowd,
      folder: join(system.folder, 'by-hand'),
      devices: [],
      effects: () => [...scene.effects],
    })
    load.start(this.#options.rate)
    const rows = await this.#struck(fault, scene)
    this.#spoilt ||= planted
    // Noticed already: there is nothing that the checker could add.
    if (planted && rows.some(({ pass, what }) => !pass && fault.plant.noticed.test(what))) return rows
    const since = Date.now()
    const withinMs = planted ? convergeWithinMsPlanted : convergeWithinMs
    const convergedMs = await account.converged(since, scene.ids, withinMs)
    this.#known = [...load.accepted]
    rows.push(
      none('requests for work that were refused', load.refused),
      ...(await account.invariants()),
      within('after it all is as it should be', withinMs, [convergedMs]),
    )
    this.#spoilt ||= !passed(rows)
    return rows
  }

  async close(): Promise<void> {
    await this.#props.cast.close()
    await this.#props.system.close()
    takeUp(this.#props.wires)
  }

  async #struck(fault: Fault, scene: Scene): Promise<Row[]> {
    try {
      await sleep(warmUpMs)
      return await fault.run(scene)
    } catch (error) {
      // What did not come to pass in its time, mostly; the others are played all the same.
      const { message } = error as Error
      return [{ what: 'it could be played to its end', expected: 'yes', seen: message, pass: false }]
    } finally {
      heal(this.#props.wires)
      await scene.mend()
      await scene.load.stop()
    }
  }
}

/** Stages with the same setting are alike. */
const settingOf = ({ variables, wiredAgents }: Fault, plant: Plant | undefined): string =>
  JSON.stringify({ wiredAgents, ...variables, ...plant?.variables })
