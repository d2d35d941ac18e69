/** `npm run bench -- NAME [switches]`: what the product costs, beside its peers; without a name, what there is. `report` makes the page of the results. */
import { ensureInstalled, requireNode } from './install.mjs'
import { run } from './run.mjs'

requireNode()
await ensureInstalled()
const [name, ...rest] = process.argv.slice(2)
process.exitCode =
  name === 'report'
    ? run('tsx', ['bench/src/report/main.ts', ...rest])
    : run('tsx', ['bench/src/main.ts', ...process.argv.slice(2)])
