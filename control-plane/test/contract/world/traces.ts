import type { World } from './things.ts'

/** What stands whatever becomes of the request: limits, tries of a second factor, and that a process runs. */
const countedAnyway = ['rate_limits', 'mfa_challenges', 'phone_codes', 'sealing_key_holders']

/** A digest of each table's rows: what differs between two of them was changed in between. */
export async function digests(
  { owner }: World,
  except: readonly string[] = countedAnyway,
): Promise<Record<string, string>> {
  const tables = await owner<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'svc'::regnamespace and relkind in ('r', 'p') order by relname`
  const entries = tables
    .filter(({ name }) => !except.includes(name))
    .map(async ({ name }) => {
      const [row] = await owner<{ digest: string }[]>`
        select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest from svc.${owner(name)} t`
      return [name, row?.digest ?? ''] as const
    })
  return Object.fromEntries(await Promise.all(entries))
}

/** What of an audit row the contract speaks of. */
export interface Trace {
  action: string
  result: string
  actorType: string
  partnerId: string | null
}

/** Audit rows that were written since `earlier` ids were read. */
export async function tracesSince({ owner }: World, earlier: ReadonlySet<string>): Promise<Trace[]> {
  const rows = await owner<(Trace & { id: string })[]>`
    select id, action, result, actor_type as "actorType", partner_id as "partnerId" from svc.audit_log order by at, id`
  return rows.filter(({ id }) => !earlier.has(id)).map(({ id: _id, ...trace }) => trace)
}

export async function knownTraces({ owner }: World): Promise<Set<string>> {
  const rows = await owner<{ id: string }[]>`select id from svc.audit_log`
  return new Set(rows.map(({ id }) => id))
}
