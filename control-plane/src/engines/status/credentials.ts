import type { CloseReason } from '@svc/proto'
import type { Db } from '../../kernel/tenancy.ts'

/** A credential that no gateway is to take any more: of the device, up to this version. */
export interface DeadCredential {
  deviceId: string
  credentialVersion: number
}

export interface Ending {
  /** told to whoever is connected with it, and to the agent when it comes back */
  reason: CloseReason
  /** the token is good again under the next version: it is its holder who is out for now */
  keepsToken?: true
}

/**
 * Ends what gateways know devices by, in the transaction that says why, with their rows locked. Each gateway reads it from the
 * exchange within two seconds of the commit, cuts whoever is connected, and admits nobody by what it remembers (promise P7).
 *
 * @param ids of devices that the caller may see; no more than one statement takes
 * @returns what died, for who wants to tell gateways sooner
 */
export async function endCredentials(
  db: Db,
  ids: readonly string[],
  ending: Ending,
): Promise<DeadCredential[]> {
  const dead = await endAll(db, ids, ending)
  if (dead.length < ids.length) throw new Error(`of ${ids.length} credentials ${dead.length} ended`)
  return dead
}

const endAll = (db: Db, ids: readonly string[], { reason, keepsToken }: Ending) => db.rows<DeadCredential>`
  with ended as (
    update devices d set credential_version = d.credential_version + 1
      ${keepsToken ? db.sql`` : db.sql`, token_sha256 = null, updated_at = now()`}
    where d.id = any (${[...ids]}::uuid[]) and ${db.visibleDevice('d')}
    returning d.id, d.partner_id, d.org_id, d.credential_version - 1 as dead),
  told as (
    insert into revocations (id, partner_id, org_id, device_id, credential_version, reason)
    select gen_random_uuid(), e.partner_id, e.org_id, e.id, e.dead, ${reason} from ended e)
  select e.id as device_id, e.dead as credential_version from ended e`
