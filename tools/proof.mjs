/** `npm run proof -- NAME [switches]`: long checks of what the product promises; without a name, what there is. */
import { ensureInstalled, requireNode } from './install.mjs'
import { run } from './run.mjs'

requireNode()
await ensureInstalled()
process.exitCode = run('tsx', ['agent-sim/test/proofs/run.ts', ...process.argv.slice(2)])
