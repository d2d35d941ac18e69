/** `npm test [-- vitest arguments]`: installs what is missing, then runs every test project. */
import { ensureInstalled, requireNode } from './install.mjs'
import { runTests } from './judgement.mjs'

requireNode()
await ensureInstalled()
process.exitCode = runTests(process.argv.slice(2))
