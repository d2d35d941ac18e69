import type { Execution } from '@svc/agent-sim'
import { brokenIn } from './checker/crowds.ts'
import type { Crowd } from './crowd.ts'
import { type Accepted, type CommandRow, commandRows, faultsOf, plantedIn } from './judge.ts'
import type { System } from './system.ts'

/** What some crowds were given to do, and what came of it: others on the same system do not matter here. */
export class Account {
  readonly accepted: Accepted[] = []
  readonly #system: System
  readonly #crowds: Crowd[] = []

  constructor(system: System) {
    this.#system = system
  }

  include(...crowds: Crowd[]): void {
    this.#crowds.push(...crowds)
  }

  executions(): Execution[] {
    return [...new Set(this.#crowds)].flatMap((crowd) => crowd.executions())
  }

  async rows(): Promise<CommandRow[]> {
    const ids = new Set(this.#crowds.flatMap((crowd) => crowd.ids))
    return (await commandRows(this.#system.sql)).filter(({ deviceId }) => ids.has(deviceId))
  }

  /** What is wrong with it, one line each. */
  async faults(more: readonly Execution[] = []): Promise<string[]> {
    return faultsOf(this.accepted, await this.rows(), [...this.executions(), ...more])
  }

  /** What is wrong by all invariants, once all has come to rest; one line each. */
  broken(): Promise<string[]> {
    const among = new Set(this.#crowds.flatMap((crowd) => crowd.ids))
    return brokenIn(this.#system, this.#crowds, this.accepted, { among })
  }

  /** What is said of each fault that is planted into it. */
  async planted(): Promise<Record<string, string[]>> {
    return plantedIn(this.accepted, await this.rows(), this.executions())
  }
}
