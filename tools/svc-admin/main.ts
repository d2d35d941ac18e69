import { runningDatabase } from '../release/running.ts'
import { DataFolder } from '../start/data-folder.ts'
import { Expected } from '../start/options.ts'

// svc-admin on what `npm start` runs: what the environment of a server says to it, the data folder (SVC_DATA, or .svc) says here.
// A variable that is set wins, as at the start.
const folder = new DataFolder(process.env['SVC_DATA'] || '.svc')
const settings: [name: string, value: () => string][] = [
  ['DATABASE_URL', () => runningDatabase(folder)],
  ['NODE_ENV', () => 'development'],
  ['KEYS_DIR', () => folder.keys],
  ['AUDIT_HEADS_DIR', () => folder.audit],
  // Last: a folder that nothing runs on has been told apart by then, and gets no key.
  ['EDGE_SHARED_KEY', () => folder.edgeSharedKey()],
]

const asksForHelp = process.argv.slice(2).every((word) => word.startsWith('-'))

try {
  for (const [name, value] of asksForHelp ? [] : settings)
    if (!process.env[name] && !process.env[`${name}_FILE`]) process.env[name] = value()
  await import('../../control-plane/src/admin.ts')
} catch (error) {
  console.error(error instanceof Expected ? error.message : error)
  process.exitCode = 1
}
