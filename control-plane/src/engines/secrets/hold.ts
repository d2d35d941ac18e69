import { hostname } from 'node:os'
import type { Sql, TransactionSql } from 'postgres'
import { v7 as uuid } from 'uuid'
import { KeyError } from '../../adapters/key-files.ts'
import { type MasterKey, openMasterKey, readMasterKeys } from '../../adapters/master-keys.ts'
import { Keyring, type Unreadable } from './keyring.ts'
import { checkProof, type KnownKey, proofOf } from './known-keys.ts'

/** How often a process asks which keys there are, and says which it has. */
const lookEveryMs = 2_000

/** Taken shared by whoever says which keys it has, alone by whoever changes what they are: nobody starts unseen during a change. */
export const keysLock = 'sealing_keys'

export interface Holding {
  ring: Keyring
  /** Asks now. Throws what is in the way; what was known goes on. */
  look(): Promise<void>
  /** Idempotent: others need not wait for this process any more. */
  close(): Promise<void>
}

export interface HoldOptions {
  onUnreadable?: Unreadable
  /** told when it could not be asked, or a key is missing: what was known goes on */
  onTrouble?: (error: unknown) => void
}

/** What this process has, and what the database says it should have. */
function matching(known: readonly KnownKey[], held: ReadonlyMap<string, MasterKey>): MasterKey[] {
  return known.flatMap((key) => {
    const master = held.get(key.keyId)
    if (!master) return []
    checkProof(master, key)
    return [master]
  })
}

const missingIn = (known: readonly KnownKey[], keys: readonly MasterKey[]) =>
  known.filter(({ keyId, state }) => state !== 'announced' && !keys.some(({ id }) => id === keyId))

/** One line: what is missing, and what is there instead. */
function missingKeys(missing: readonly KnownKey[], dir: string, held: Iterable<string>): KeyError {
  const [wanted, there] = [missing.map(({ keyId }) => keyId).join(', '), [...held].join(', ')]
  const instead = there ? `, which holds ${there}` : ''
  return new KeyError(`master key ${wanted} of this database is not in ${dir} (KEYS_DIR)${instead}`)
}

const readKnown = (tx: TransactionSql) =>
  tx<KnownKey[]>`select key_id, proof, state from sealing_keys order by state_since`

/** A key is made only for a database that has never had one. Two servers that start together on it: the quicker one decides. */
async function firstKey(tx: TransactionSql, dir: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext(${keysLock}))`
  const [kept] = await tx`select from sealing_keys`
  if (kept) return
  const master = openMasterKey(dir)
  await tx`insert into sealing_keys (key_id, proof) values (${master.id}, ${proofOf(master)})`
}

/** What is known now; this process is written down as holding what it has of it, in the same breath. */
function look(sql: Sql, { process, dir, ring }: { process: string; dir: string; ring: Keyring | undefined }) {
  return sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock_shared(hashtext(${keysLock}))`
    const known = await readKnown(tx)
    const held = new Map([...(ring?.keys ?? []).map((key) => [key.id, key] as const), ...readMasterKeys(dir)])
    const keys = matching(known, held)
    const missing = missingIn(known, keys)
    if (!ring && missing.length > 0) throw missingKeys(missing, dir, held.keys())
    const sealing = known.find(({ state }) => state === 'sealing')?.keyId ?? ''
    const [first] = keys.filter(({ id }) => id === sealing)
    const used = ring ?? (first && new Keyring(first))
    if (!used) throw new KeyError(`this database has no master key that seals (${dir} is KEYS_DIR)`)
    used.hold(keys, sealing)
    await tx`
      insert into sealing_key_holders (process, key_ids, seals_under)
      values (${process}, ${tx.array(keys.map(({ id }) => id))}, ${used.sealsUnder})
      on conflict (process) do update
        set key_ids = excluded.key_ids, seals_under = excluded.seals_under, seen_at = now()`
    return { ring: used, trouble: missing.length > 0 && missingKeys(missing, dir, held.keys()) }
  })
}

/**
 * The master keys of this database, for a process: the database keeps a sealed proof of each, so that a wrong or lost key is found at
 * start-up and not when somebody logs in. Follows rotations until closed.
 *
 * @param sql of svc_worker
 * @throws KeyError, one line, when KEYS_DIR does not have what this database needs
 */
export async function holdKeys(sql: Sql, dir: string, options: HoldOptions = {}): Promise<Holding> {
  const holder = `${hostname()}/${process.pid}/${uuid()}`
  const [kept] = await sql`select from sealing_keys limit 1`
  if (!kept) await sql.begin((tx) => firstKey(tx, dir))
  const { ring } = await look(sql, { process: holder, dir, ring: undefined })
  if (options.onUnreadable) ring.onUnreadable = options.onUnreadable

  let looking: Promise<void> | undefined
  const lookAgain = async () => {
    const { trouble } = await look(sql, { process: holder, dir, ring })
    if (trouble) throw trouble
  }
  const timer = setInterval(() => {
    looking ??= lookAgain()
      .catch((error: unknown) => options.onTrouble?.(error))
      .finally(() => {
        looking = undefined
      })
  }, lookEveryMs).unref()
  const leave = async () => {
    clearInterval(timer)
    await looking
    // What cannot be said is taken for granted when it was not seen for a while.
    await sql`delete from sealing_key_holders where process = ${holder}`.catch((error: unknown) =>
      options.onTrouble?.(error),
    )
  }
  let closing: Promise<void> | undefined
  return { ring, look: lookAgain, close: () => (closing ??= leave()) }
}
