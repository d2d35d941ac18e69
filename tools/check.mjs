/**
 * `npm run check`: everything that needs no service. All steps run, so one look shows all that is wrong. `--no-tests` leaves out what
 * `npm test` runs as well; other arguments are the unit tests'.
 */
import { ensureInstalled, requireNode } from './install.mjs'
import { run } from './run.mjs'

const given = process.argv.slice(2)
const tests = given.filter((argument) => argument !== '--no-tests')
const steps = [
  { name: 'format', program: 'biome', args: ['format', '.'] },
  { name: 'lint', program: 'oxlint', args: ['--type-aware'] },
  { name: 'types', program: 'tsc', args: [] },
  { name: 'unit', program: 'vitest', args: ['run', '--project', 'unit', ...tests] },
].filter(({ name }) => name !== 'unit' || tests.length === given.length)

requireNode()
await ensureInstalled()
const failed = []
for (const { name, program, args } of steps) {
  const begun = performance.now()
  if (run(program, args) !== 0) failed.push(name)
  console.log(`check: ${name} took ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}
// The last line: whoever reads no further is not told by a count of tests that all is well.
console.log(failed.length > 0 ? `check: failed: ${failed.join(', ')}` : 'check: all is well')
process.exitCode = failed.length > 0 ? 1 : 0
