import { openPool } from '../../src/adapters/postgres.ts'
import { holdKeys } from '../../src/engines/secrets/hold.ts'
import { reseal } from '../../src/engines/secrets/reseal.ts'
import { workerDb } from '../../src/kernel/db.ts'

/** A process that seals anew, for somebody to kill: says `ready` when it begins, and ends when it is done. */
const [url = '', keysDir = ''] = process.argv.slice(2)
const pool = openPool({ url, role: 'svc_worker', max: 2, name: 'svc-worker' })
const { ring } = await holdKeys(pool, keysDir)
process.stdout.write('ready\n')
await reseal(workerDb(pool, { kind: 'system' }), ring)
process.exit(0)
