import type { HeadsFile } from '../../adapters/heads-file.ts'
import type { KeyPair } from '../../adapters/keys.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import { lineOf, signHead } from './head.ts'
import { dropOwedHeads, listOwedHeads } from './rows.ts'

export interface TellDeps {
  /** of scope `system` */
  db: WorkerDb
  ports: {
    /** the key that signs heads */
    headKey: () => KeyPair
    /** absent: they are told in the log alone */
    headsFile?: HeadsFile | undefined
  }
  log: HeadsLog
}

/** What it needs of a logger: pino's, and Fastify's. */
export interface HeadsLog {
  child(bindings: object, options: { level: 'info' }): { info(details: object, message: string): void }
}

/** Heads per round. */
const batch = 1_000

/**
 * Tells ends of chains outside of the database: in the file, on the disk, and in the log. Only then they are not owed any more, so one may
 * be told twice, and none is left out, whoever dies in between.
 */
export async function tellHeads({ db, ports, log }: TellDeps): Promise<void> {
  // Whatever the log's level: who ships logs has no other heads.
  const always = log.child({}, { level: 'info' })
  for (;;) {
    const owed = await listOwedHeads(db, batch)
    if (owed.length === 0) return
    const at = new Date().toISOString()
    const key = ports.headKey()
    const heads = owed.map((head) => signHead({ kind: 'head', ...head, at }, key))
    await ports.headsFile?.append(heads.map(lineOf).join(''))
    for (const auditHead of heads)
      always.info({ event: 'audit.sealed', auditHead }, 'the audit log is sealed up to here')
    await db.tx((tx) => dropOwedHeads(tx, owed))
    if (owed.length < batch) return
  }
}
