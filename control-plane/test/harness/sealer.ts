import { generateKeyPairSync } from 'node:crypto'
import { openHeadsFile } from '../../src/adapters/heads-file.ts'
import { openPool } from '../../src/adapters/postgres.ts'
import { Sealer } from '../../src/engines/chain/sealer.ts'
import { workerDb } from '../../src/kernel/db.ts'

/** A process that seals, to be killed. Arguments: the database's URL, and where its heads go. */
const [, , url = '', dir = ''] = process.argv
const db = workerDb(openPool({ url, role: 'svc_worker', max: 2, name: 'doomed' }), { kind: 'system' })
const key = { id: 'doomed', ...generateKeyPairSync('ed25519') }
const headsFile = await openHeadsFile(dir)
const log = {
  child: () => ({ info: () => undefined }),
  error: (details: object) => console.error(details),
}
new Sealer({ db, ports: { headKey: () => key, headsFile }, log, everyMs: 5 }).start()
console.log('sealing')
