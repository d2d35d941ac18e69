import { writeFileSync, writeSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { tally } from '../tally.mjs'
import { StandingFault } from './standing-fault.ts'

interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** A file of ends in which tests failed, and nothing that is no matter of time. */
export interface Doubtful {
  file: string
  /** by their full names */
  tests: string[]
}

/** What a run leaves for who started it. */
export interface Outcome extends Counts {
  doubtful: Doubtful[]
}

/** Counts tests; a file or group that breaks outside of any test (import, hook) counts as one failure. */
export function count(modules: Iterable<TestModule>, unhandled: number): Counts {
  let [passed, failed, skipped] = [0, unhandled, 0]
  for (const module of modules) {
    failed += module.errors().length > 0 ? 1 : 0
    for (const suite of module.children.allSuites()) failed += suite.errors().length > 0 ? 1 : 0
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') passed++
      else if (state === 'failed') failed++
      else skipped++
    }
  }
  return { passed, failed, skipped }
}

/** Files of ends whose failures may come of a machine that had too much to do: of tests alone, and of no {@link StandingFault}. */
export function doubtful(modules: Iterable<TestModule>): Doubtful[] {
  return [...modules].flatMap((module) => {
    if (module.project.name !== 'e2e') return []
    const failed = [...module.children.allTests('failed')]
    const errors = failed.flatMap((test) => test.result().errors ?? [])
    const isDoubtful = failed.length > 0 && failed.length === count([module], 0).failed
    // Errors come from another process: of their class only the name is left.
    if (!isDoubtful || errors.some(({ name }) => name === StandingFault.name)) return []
    const file = relative(module.project.config.root, module.moduleId)
    return [{ file, tests: failed.map((test) => test.fullName) }]
  })
}

/** Prints the tally as the very last line of a run, and leaves the outcome in the file that the environment names. */
export default class Tally implements Reporter {
  #watching = false
  #outcome: Outcome = { passed: 0, failed: 0, skipped: 0, doubtful: [] }

  onInit(vitest: Vitest) {
    this.#watching = vitest.config.watch
    // Other reporters and vitest itself still print after the run's end; nothing prints after this.
    if (!this.#watching) process.on('exit', (code) => this.#end(code))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]) {
    this.#outcome = { ...count(modules, unhandled.length), doubtful: doubtful(modules) }
    if (this.#watching) console.log(tally(this.#outcome))
  }

  #end(code: number) {
    // A run that could not even begin failed, although no test did.
    if (code !== 0 && this.#outcome.failed === 0) this.#outcome.failed = 1
    const file = process.env['TEST_OUTCOME_FILE']
    if (file) writeFileSync(file, JSON.stringify(this.#outcome))
    writeSync(1, `${tally(this.#outcome)}\n`)
  }
}
