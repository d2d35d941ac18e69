/** `npm test [-- vitest arguments]`: installs what is missing, then runs every test project. */
import { ensureInstalled, requireNode } from './install.mjs'
import { run } from './run.mjs'

requireNode()
await ensureInstalled()
process.exitCode = run('vitest', ['run', ...process.argv.slice(2)])
