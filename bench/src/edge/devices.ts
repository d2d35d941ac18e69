import { randomUUID } from 'node:crypto'
import { makeDeviceToken, tokenHash } from '@svc/proto'
import postgres, { type Sql } from 'postgres'
import type { Identity } from '../wire/connection.ts'

/** The superuser's view of the rows: no role or scope of the product is in between. */
export const openDatabase = (url: string): Sql =>
  postgres(url, {
    max: 1,
    connection: { search_path: 'svc' },
    onnotice: () => undefined,
    transform: postgres.camel,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })

export type Agent = Identity & { token: string }

const perStatement = 5_000

/** For the test of the benches: no token is good, so a bench that prints figures all the same has measured nothing. */
const planted =
  process.env['NODE_ENV'] === 'test' && process.env['SVC_TEST_WITHOUT']?.split(',').includes('bench_tokens')

/** Where devices belong. */
export interface Place {
  partnerId: string
  organizationId: string
  siteId: string
}

/** A partner with one organization and one site. */
export async function seedPlace(sql: Sql): Promise<Place> {
  const [partnerId, organizationId, siteId] = [randomUUID(), randomUUID(), randomUUID()]
  await sql`insert into partners (id, name, slug) values (${partnerId}, 'Bench', 'bench')`
  await sql`
    insert into organizations (id, partner_id, name, slug) values (${organizationId}, ${partnerId}, 'Bench', 'bench')`
  await sql`
    insert into sites (id, partner_id, org_id, name) values (${siteId}, ${partnerId}, ${organizationId}, 'Bench')`
  return { partnerId, organizationId, siteId }
}

/**
 * Enrolls devices as the API would leave them behind, without its work for each: rows of `devices` and `device_presence`. `presences`
 * is how many rows the latter has in all; the agents' lie scattered among them, as those of one gateway do.
 */
export async function seedDevices(
  sql: Sql,
  { partnerId, organizationId, siteId }: Place,
  count: number,
  presences = count,
): Promise<Agent[]> {
  await sql`
    insert into device_presence (device_id, partner_id, org_id)
    select uuidv7(), ${partnerId}, ${organizationId} from generate_series(1, ${Math.max(count, presences)})`
  const rows = await sql<{ deviceId: string }[]>`
    select device_id from device_presence order by random() limit ${count}`
  const agents = rows.map(({ deviceId }) => ({ deviceId, token: makeDeviceToken(deviceId) }))
  for (let at = 0; at < agents.length; at += perStatement) {
    const some = agents.slice(at, at + perStatement)
    await sql`
      insert into devices (id, partner_id, org_id, site_id, hostname, os_type, enrolled_at, token_sha256, token_issued_at)
      select id, ${partnerId}, ${organizationId}, ${siteId}, 'bench-' || id, 'linux', now(), decode(hash, 'hex'), now()
      from unnest(${some.map(({ deviceId }) => deviceId)}::uuid[],
        ${some.map(({ token }) => tokenHash(planted ? `not ${token}` : token).toString('hex'))}::text[]) as d (id, hash)`
  }
  await sql`vacuum analyze devices, device_presence`
  return agents
}
