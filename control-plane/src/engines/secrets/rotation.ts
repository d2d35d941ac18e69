import { KeyError } from '../../adapters/key-files.ts'
import { addMasterKey, masterFile, readMasterKeys } from '../../adapters/master-keys.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { keysLock } from './hold.ts'
import { type KeyState, proofOf } from './known-keys.ts'
import { countSealed, retiresAfter } from './register.ts'

/** Who did not say for so long which keys it has is not running: processes say it every two seconds. */
const goneAfter = '20 seconds'

/** Why it cannot be done now, in one line. */
export class RotationError extends Error {
  override name = 'RotationError'
}

export interface KeyStanding {
  keyId: string
  state: KeyState
  since: Date
  /** values under it, by place */
  sealed: Record<string, number>
  /** running processes that have it, and that seal under it */
  held: number
  used: number
}

interface Holder {
  process: string
  keyIds: string[]
  sealsUnder: string
}

const readKeys = (db: Db) =>
  db.rows<{ keyId: string; state: KeyState; since: Date; ripe: boolean }>`
    select key_id, state, state_since as since, state_since + ${retiresAfter}::interval <= now() as ripe
    from sealing_keys order by state_since, key_id`

const readRetired = async (db: Db) =>
  (await db.rows<{ keyId: string }>`select key_id from retired_master_keys`).map(({ keyId }) => keyId)

const readHolders = (db: Db) =>
  db.rows<Holder>`
    select process, key_ids, seals_under from sealing_key_holders
    where seen_at > now() - ${goneAfter}::interval order by process`

/** Alone: no process begins meanwhile, and none says anything. */
const lock = (db: Db) => db.run`select pg_advisory_xact_lock(hashtext(${keysLock}))`

/** Keys and running processes, as the database knows them. */
export async function standing(db: Db): Promise<{ keys: KeyStanding[]; processes: number }> {
  const [keys, holders, counts] = [await readKeys(db), await readHolders(db), await countSealed(db)]
  return {
    processes: holders.length,
    keys: keys.map(({ keyId, state, since }) => ({
      keyId,
      state,
      since,
      sealed: Object.fromEntries(
        counts.filter((one) => one.keyId === keyId).map(({ place, n }) => [place, n]),
      ),
      held: holders.filter(({ keyIds }) => keyIds.includes(keyId)).length,
      used: holders.filter(({ sealsUnder }) => sealsUnder === keyId).length,
    })),
  }
}

/**
 * Makes a key in KEYS_DIR and announces it. One whose making was interrupted, or that was announced before, is taken instead; never
 * one that was retired, whose file may be there still: it may be why keys are exchanged.
 *
 * @returns its id and file
 * @throws RotationError while the one before is not through; KeyError
 */
export async function announceKey(db: Db, dir: string): Promise<{ keyId: string; file: string }> {
  await lock(db)
  const known = await readKeys(db)
  const announced = known.find(({ state }) => state === 'announced')
  if (announced) return { keyId: announced.keyId, file: masterFile(announced.keyId) }
  const retiring = known.find(({ state }) => state === 'retiring')
  if (retiring) throw new RotationError(`master key ${retiring.keyId} retires still: one rotation at a time`)
  if (known.length === 0)
    throw new RotationError('this database has no master key yet: it gets one when a server starts')
  const held = readMasterKeys(dir)
  if (!known.some(({ keyId }) => held.has(keyId)))
    throw new KeyError(`master key ${known[0]?.keyId} of this database is not in ${dir} (KEYS_DIR)`)
  const gone = await readRetired(db)
  const spare = [...held.values()].filter(
    ({ id }) => !gone.includes(id) && !known.some((key) => key.keyId === id),
  )
  const master = spare.at(-1) ?? addMasterKey(dir)
  await db.run`
    insert into sealing_keys (key_id, proof, state) values (${master.id}, ${proofOf(master)}, 'announced')`
  return { keyId: master.id, file: masterFile(master.id) }
}

/**
 * From now on the announced key seals, and the one before retires. Idempotent by what it finds: with nothing announced it says so.
 *
 * @throws RotationError while a running process does not have the key
 */
export async function useKey(db: Db): Promise<{ sealing: string; retiring: string }> {
  await lock(db)
  const known = await readKeys(db)
  const announced = known.find(({ state }) => state === 'announced')?.keyId
  const sealing = known.find(({ state }) => state === 'sealing')?.keyId
  if (!announced || !sealing) throw new RotationError('no master key is announced: add one first')
  const without = (await readHolders(db)).filter(({ keyIds }) => !keyIds.includes(announced))
  if (without.length > 0)
    throw new RotationError(
      `not every running process has master key ${announced}: copy ${masterFile(announced)} to ${processesOf(without)}`,
    )
  await db.run`update sealing_keys set state = 'retiring', state_since = now() where key_id = ${sealing}`
  await db.run`update sealing_keys set state = 'sealing', state_since = now() where key_id = ${announced}`
  return { sealing: announced, retiring: sealing }
}

const processesOf = (holders: readonly Holder[]) =>
  holders
    .map(({ process }) => {
      const [host, pid] = process.split('/')
      return `${host} (process ${pid})`
    })
    .join(', ')

/**
 * The database forgets a key that nothing is sealed under. It refuses by itself where a column still is; from then on it also refuses
 * what a process that slept through it all would write under it.
 *
 * @throws RotationError while it is needed
 */
export async function retireKey(db: Db): Promise<{ keyId: string; retiringSince: Date }> {
  await lock(db)
  const retiring = (await readKeys(db)).find(({ state }) => state === 'retiring')
  if (!retiring) throw new RotationError('no master key retires')
  const { keyId, since, ripe } = retiring
  const still = (await readHolders(db)).filter(({ sealsUnder }) => sealsUnder === keyId)
  if (still.length > 0)
    throw new RotationError(`master key ${keyId} is sealed under still by ${processesOf(still)}`)
  // From here on nothing new can come under it: whoever seals refers to its row.
  await db.run`select from sealing_keys where key_id = ${keyId} for update`
  const left = (await countSealed(db)).filter((one) => one.keyId === keyId)
  if (left.length > 0) {
    const where = left.map(({ place, n }) => `${place} ${n}`).join(', ')
    throw new RotationError(`values are under master key ${keyId} still: ${where}`)
  }
  if (!ripe)
    throw new RotationError(
      `master key ${keyId} stopped sealing at ${since.toISOString()}: what clients were given under it lives for ${retiresAfter}`,
    )
  await db.run`delete from sealing_keys where key_id = ${keyId}`
  await db.run`insert into retired_master_keys (key_id) values (${keyId}) on conflict do nothing`
  return { keyId, retiringSince: since }
}
