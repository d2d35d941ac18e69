import type { Api } from '../system/harness/api.ts'
import type { System } from '../system/harness/system.ts'
import { type FleetProcess, onlineAfter, startFleetProcess } from './fleets.ts'
import type { Identity } from './ledgers.ts'
import { enroll } from '../system/harness/voice.ts'
import { type Caller, connectAt } from './strangers.ts'
import { seconds } from './verdict.ts'

/** An agent process at most. */
const perProcess = 1_000
const presentWithinMs = 120_000

/** A device that only this process plays, with its connection. */
export type Played = Identity & { caller: Caller }

/** Who takes part: fleets in processes of their own, and devices that this process plays. */
export class Cast {
  /** those whose effects and ledgers count */
  readonly fleets: FleetProcess[] = []
  readonly #system: System
  readonly #api: Api
  readonly #heartbeatMs: number
  readonly #say: (line: string) => void
  readonly #played: Played[] = []

  constructor(system: System, api: Api, heartbeatMs: number, say: (line: string) => void) {
    this.#system = system
    this.#api = api
    this.#heartbeatMs = heartbeatMs
    this.#say = say
  }

  /**
   * A fleet, and how long it took from its enrollment until all of it was online, `patienceMs` at most.
   * @param more switches
   * @param variables of its environment
   */
  async fleet(
    name: string,
    agents: number,
    patienceMs: number,
    more: Record<string, string> = {},
    variables: Record<string, string> = {},
  ) {
    const fleet = await startFleetProcess(this.#system, name, agents, more, variables)
    this.fleets.push(fleet)
    const onlineMs = await onlineAfter(this.#system, fleet, patienceMs)
    this.#say(`${agents} agents of ${name} are enrolled; online after ${seconds(onlineMs)}`)
    return { ...fleet, onlineMs }
  }

  /** A fleet that is there before anything begins. */
  async present(name: string, agents: number, more: Record<string, string> = {}): Promise<FleetProcess> {
    const fleet = await this.fleet(name, agents, presentWithinMs, more)
    if (!Number.isFinite(fleet.onlineMs)) throw new Error(`the agents of ${name} do not come online`)
    return fleet
  }

  /** So many agents, in as many processes as that takes; one after the other, as their enrollment is work for the server. */
  async crowd(agents: number): Promise<FleetProcess[]> {
    const processes = Math.ceil(agents / perProcess)
    const fleets: FleetProcess[] = []
    for (let left = agents; left > 0; left -= fleets.at(-1)?.devices.length ?? left)
      fleets.push(await this.present(`crowd${fleets.length}`, Math.min(left, Math.ceil(agents / processes))))
    return fleets
  }

  /** Devices that are enrolled and nothing more. */
  enrolled(name: string, count: number): Promise<Identity[]> {
    const numbers = Array.from({ length: count }, (_, n) => n)
    return Promise.all(numbers.map((n) => enroll(this.#api, this.#system, `${name}${n}`)))
  }

  /** Devices with a connection each, at all gateways in turn. */
  async played(name: string, count: number): Promise<Played[]> {
    const urls = this.#system.gatewayUrls
    const identities = await this.enrolled(name, count)
    const played = await Promise.all(
      identities.map(async (identity, n) => {
        const caller = await connectAt(urls[n % urls.length] ?? '', identity, this.#heartbeatMs / 2)
        return { ...identity, caller }
      }),
    )
    this.#played.push(...played)
    return played
  }

  async close(): Promise<void> {
    for (const { caller } of this.#played) caller.peer.drop()
    await Promise.all(this.fleets.map(({ program }) => program.kill()))
  }
}

export const idsOf = (fleets: readonly FleetProcess[]): string[] =>
  fleets.flatMap(({ devices }) => devices.map(({ deviceId }) => deviceId))
