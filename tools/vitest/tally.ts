import { writeSync } from 'node:fs'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** The count of a run, in the one form that scripts read. */
export const tally = (passed: number, failed: number, skipped: number) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/** Counts tests; a file or group that breaks outside of any test (import, hook) counts as one failure. */
export function count(modules: Iterable<TestModule>, unhandled: number) {
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

/** Prints the tally as the very last line of a run. */
export default class Tally implements Reporter {
  #watching = false
  #counts = { passed: 0, failed: 0, skipped: 0 }

  onInit(vitest: Vitest) {
    this.#watching = vitest.config.watch
    // Other reporters and vitest itself still print after the run's end; nothing prints after this.
    if (!this.#watching) process.on('exit', (code) => writeSync(1, `${this.#line(code)}\n`))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]) {
    this.#counts = count(modules, unhandled.length)
    if (this.#watching) console.log(this.#line(0))
  }

  #line(code: number) {
    const { passed, failed, skipped } = this.#counts
    // A run that could not even begin failed, although no test did.
    return tally(passed, code !== 0 && failed === 0 ? 1 : failed, skipped)
  }
}
