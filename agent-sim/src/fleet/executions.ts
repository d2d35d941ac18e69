import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** An effect happened: a device began to carry out a command. `at` in milliseconds since 1970. */
export interface Execution {
  commandId: string
  deviceId: string
  type: string
  at: number
}

/** Every execution of a fleet, so that a checker can count how often an effect happened; also in `<dir>/executions.jsonl`. */
export class ExecutionLog {
  readonly #all: Execution[] = []
  readonly #file: number | undefined

  constructor(dir?: string) {
    if (dir === undefined) return
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    this.#file = openSync(join(dir, 'executions.jsonl'), 'a', 0o600)
  }

  /** Written before the effect: a crash in between shows an execution too many, never one too few. */
  add(execution: Execution): void {
    this.#all.push(execution)
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(execution)}\n`)
  }

  all(): Execution[] {
    return [...this.#all]
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}
