import { SecretError, type Secrets } from '../../adapters/secrets.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import { type Sealed, type SealedPlace, sealedPlaces, type ShortLived } from './register.ts'

/** Rows per transaction: each is locked for as long as that lasts. */
const batchRows = 100

export interface Resealed {
  /** values that are under the key that seals now */
  done: number
  /** values that somebody else changed meanwhile, which are theirs */
  passed: number
  /** values that do not open: the operator was told, and the key cannot go before they are mended or removed */
  stuck: number
}

export interface ResealOptions {
  /** default: all of the register; a proof brings its own */
  places?: Readonly<Record<string, SealedPlace | ShortLived>>
}

/**
 * Seals anew whatever is still under a key that retires, in batches of a transaction each. What is left is what the database finds under
 * that key: there is nothing to be remembered, so that it may be killed at any moment, run twice at once, and be run again.
 *
 * @param db of scope `system`
 * @returns undefined when no key retires, or this process does not seal under the new one yet
 */
export async function reseal(
  db: WorkerDb,
  secrets: Secrets,
  options: ResealOptions = {},
): Promise<Resealed | undefined> {
  const keys = await db.rows<{ keyId: string; state: string }>`select key_id, state from sealing_keys`
  const old = keys.find(({ state }) => state === 'retiring')?.keyId
  const sealing = keys.find(({ state }) => state === 'sealing')?.keyId
  if (!old || sealing !== secrets.sealsUnder) return undefined
  const sum = { done: 0, passed: 0, stuck: 0 }
  for (const place of Object.values(options.places ?? sealedPlaces)) {
    if ('next' in place) await resealPlace({ db, secrets, place, old, sum })
  }
  return sum
}

interface Work {
  db: WorkerDb
  secrets: Secrets
  place: SealedPlace
  old: string
  sum: Resealed
}

async function resealPlace({ db, secrets, place, old, sum }: Work): Promise<void> {
  let after: string | null = null
  for (;;) {
    const batch: Sealed[] = await place.next(db, old, after, batchRows)
    const last = batch.at(-1)
    if (!last) return
    after = last.row
    const fresh = batch.map((was) => ({ was, sealed: sealedAnew(secrets, place, was) }))
    sum.stuck += fresh.filter(({ sealed }) => !sealed).length
    const written = await db.tx(async (tx) => {
      const rows = await Promise.all(
        fresh.map(async ({ was, sealed }) => (sealed ? place.replace(tx, was, sealed) : 0)),
      )
      return rows.reduce((all, n) => all + n, 0)
    })
    sum.done += written
    sum.passed += fresh.filter(({ sealed }) => sealed).length - written
  }
}

/** Undefined: it does not open, which whoever opens it tells the operator. */
function sealedAnew(secrets: Secrets, place: SealedPlace, { row, sealed }: Sealed): Buffer | undefined {
  try {
    return secrets.seal(secrets.open(sealed, place.of(row)), place.of(row))
  } catch (error) {
    if (error instanceof SecretError) return undefined
    throw error
  }
}
