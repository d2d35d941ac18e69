import type postgres from 'postgres'
import type { Execution } from '@svc/agent-sim'
import type { Crowd } from './crowd.ts'
import { type Accepted, type CommandRow, commandRows, faultsOf, plantedIn } from './judge.ts'

/** What some crowds were given to do, and what came of it: others on the same system do not matter here. */
export class Account {
  readonly accepted: Accepted[] = []
  readonly #sql: postgres.Sql
  readonly #crowds: Crowd[] = []

  constructor(sql: postgres.Sql) {
    this.#sql = sql
  }

  include(...crowds: Crowd[]): void {
    this.#crowds.push(...crowds)
  }

  executions(): Execution[] {
    return [...new Set(this.#crowds)].flatMap((crowd) => crowd.executions())
  }

  async rows(): Promise<CommandRow[]> {
    const ids = new Set(this.#crowds.flatMap((crowd) => crowd.ids))
    return (await commandRows(this.#sql)).filter(({ deviceId }) => ids.has(deviceId))
  }

  /** What is wrong with it, one line each. */
  async faults(more: readonly Execution[] = []): Promise<string[]> {
    return faultsOf(this.accepted, await this.rows(), [...this.executions(), ...more])
  }

  /** What is said of each fault that is planted into it. */
  async planted(): Promise<Record<string, string[]>> {
    return plantedIn(this.accepted, await this.rows(), this.executions())
  }
}
