import type { Sql } from 'postgres'
import { hasMasterKey, KeyError, type MasterKey, openMasterKey } from '../../adapters/keys.ts'
import { secretsOf } from './envelope.ts'

const place = (id: string) => ({ table: 'sealing_keys', column: 'proof', row: id, org: null })
const proofText = 'this key opens what it sealed'

/**
 * The master key of this database: the database keeps a sealed proof of it, so that a wrong or lost key is found at start-up and
 * not when somebody logs in. A key is made only for a database that has never had one.
 *
 * @param sql of svc_worker
 * @throws KeyError, one line
 */
export async function masterKeyFor(sql: Sql, dir: string): Promise<MasterKey> {
  const known = await sql<{ keyId: string; proof: Uint8Array }[]>`select key_id, proof from sealing_keys`
  if (known.length > 0 && !hasMasterKey(dir)) {
    throw new KeyError(`the master key of this database (${known[0]?.keyId}) is not in ${dir} (KEYS_DIR)`)
  }
  const master = openMasterKey(dir)
  const mine = known.find(({ keyId }) => keyId === master.id)
  if (known.length > 0 && !mine) {
    throw new KeyError(
      `${dir} (KEYS_DIR) holds master key ${master.id}, but this database was sealed under ${known[0]?.keyId}`,
    )
  }
  if (mine) secretsOf(master).open(mine.proof, place(master.id))
  else await remember(sql, master, dir)
  return master
}

/** Two servers that start together on an empty database: the one that is quicker decides. */
async function remember(sql: Sql, master: MasterKey, dir: string) {
  const proof = secretsOf(master).seal(proofText, place(master.id))
  const keptId = await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('sealing_keys'))`
    await tx`insert into sealing_keys (key_id, proof) select ${master.id}, ${proof} where not exists (select from sealing_keys)`
    const [kept] = await tx<{ keyId: string }[]>`select key_id from sealing_keys`
    return kept?.keyId
  })
  if (keptId !== master.id) throw new KeyError(`${dir} (KEYS_DIR) holds another master key than ${keptId}`)
}
