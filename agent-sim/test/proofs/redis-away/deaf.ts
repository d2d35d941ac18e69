import { freePort } from '../../../../tools/services.ts'
import type { Api } from '../../system/harness/api.ts'
import { type Crowd, startCrowd } from '../../system/harness/crowd.ts'
import { type Program, startProgram } from '../../system/harness/program.ts'
import type { System } from '../../system/harness/system.ts'
import { Account } from '../account.ts'
import { effectsIn, identitiesIn } from '../ledgers.ts'
import type { FleetProcess } from '../fleets.ts'
import { Load } from '../load.ts'
import type { Pace } from '../pace.ts'
import type { Row } from '../verdict.ts'

const agents = 3
const perSecond = 5

/** What is seen of a gateway without its guard, in the way in which the others are judged; none of these passes. */
export const plantedRows = [
  'planted: commands accepted while Redis was gone that ended meanwhile',
  'planted: their results that agents know to be committed',
] as const

/** A gateway that hands nothing up while Redis is gone, beside those that are judged, with agents that know no other. */
export class Deaf {
  readonly fleet: FleetProcess
  readonly load: Load
  readonly #crowd: Crowd
  readonly #account: Account

  private constructor(system: System, crowd: Crowd, gateway: Program, load: Load) {
    const { folder } = crowd
    this.fleet = {
      folder,
      program: gateway,
      devices: identitiesIn(folder),
      effects: () => effectsIn(folder),
    }
    this.load = load
    this.#crowd = crowd
    this.#account = new Account(system, [this.fleet], load)
  }

  /** Resolves when its agents are connected. */
  static async start(system: System, api: Api, random: () => number): Promise<Deaf> {
    const port = String(await freePort())
    const gateway = await startProgram({
      entry: 'gateway',
      env: {
        ...system.environment,
        GATEWAY_PORT: port,
        MQTT_PORT: 'off',
        SVC_TEST_WITHOUT: 'exchange_up',
      },
      ready: /accepting agents/,
    })
    const gateways = [`ws://127.0.0.1:${port}/agent`]
    const crowd = await startCrowd(system, { agents, name: 'deaf', gateways }).catch(async (error: Error) => {
      await gateway.kill()
      throw error
    })
    const load = new Load(api, random)
    load.targets.push(...crowd.ids)
    return new Deaf(system, crowd, gateway, load)
  }

  /** Work for its devices, from now until `load` is stopped. */
  work(): void {
    this.load.start(perSecond)
  }

  /** What came of its work since then, leaving out what was too young by `untilMs`. */
  async rows(sinceMs: number, pace: Pace, untilMs: number): Promise<Row[]> {
    const seen = await this.#account.meanwhile(sinceMs, pace, [], { untilMs })
    return plantedRows.flatMap((what, at) => {
      const row = seen[at]
      return row ? [{ ...row, what }] : []
    })
  }

  async close(): Promise<void> {
    await this.load.stop()
    await this.#crowd.fleet.kill()
    await this.fleet.program.kill()
  }
}
