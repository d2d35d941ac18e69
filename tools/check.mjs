/** `npm run check`: everything that needs no service. All steps run, so one look shows all that is wrong. */
import { ensureInstalled, requireNode } from './install.mjs'
import { run } from './run.mjs'

const steps = [
  { name: 'format', program: 'biome', args: ['format', '.'] },
  { name: 'lint', program: 'oxlint', args: ['--type-aware'] },
  { name: 'types', program: 'tsc', args: [] },
  // Last, because its last line is the count.
  { name: 'unit', program: 'vitest', args: ['run', '--project', 'unit', ...process.argv.slice(2)] },
]

requireNode()
await ensureInstalled()
const failed = []
for (const { name, program, args } of steps) {
  if (name === 'unit' && failed.length > 0)
    console.error(`check: failed before the unit tests: ${failed.join(', ')}`)
  const begun = performance.now()
  if (run(program, args) !== 0) failed.push(name)
  if (name !== 'unit') console.log(`check: ${name} took ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}
process.exitCode = failed.length > 0 ? 1 : 0
