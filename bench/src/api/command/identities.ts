import { makeDeviceToken, tokenHash } from '@svc/proto'
import type postgres from 'postgres'
import type { Identity } from '../../wire/connection.ts'
import { deviceId } from '../stage/devices.ts'

/** Gives the first devices of the stage what they connect with, as enrolling would have, without its work for each. */
export async function giveTokens(sql: postgres.Sql, count: number): Promise<Identity[]> {
  const identities = Array.from({ length: count }, (_, at) => {
    const id = deviceId(at + 1)
    return { deviceId: id, token: makeDeviceToken(id) }
  })
  await sql`
    update devices d set token_sha256 = decode(t.hash, 'hex'), token_issued_at = now()
    from unnest(${identities.map((one) => one.deviceId)}::uuid[],
      ${identities.map(({ token }) => tokenHash(token).toString('hex'))}::text[]) as t (id, hash)
    where d.id = t.id`
  await sql`vacuum analyze devices`
  return identities
}
