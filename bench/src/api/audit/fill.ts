import type postgres from 'postgres'
import type { Place } from '../stage/devices.ts'

/** One of version 7, of that moment, as the product makes them. */
const idAtSql = (at: string) =>
  `overlay(overlay(gen_random_uuid()::text placing '7' from 15) placing
    regexp_replace(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0'), '(.{8})', '\\1-') from 1)::uuid`

/** Known to every side without asking. */
const idSql = (kind: string, n: string) =>
  `('0193${kind}00-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`
const idOf = (kind: string, n: number) => `0193${kind}00-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

export const actors = 500
const organizations = 50
const devices = 20_000
/** Rows of the oldest stretch, and of who acts in nothing else. */
const oldest = 40

export const actorId = (n: number): string => idOf('d0', n)
export const organizationId = (n: number): string => idOf('d1', n)
/** Left a year ago. */
export const formerActor = actorId(actors + 1)
/** Of the oldest rows alone. */
export const quietOrganization = organizationId(organizations + 1)
export const rareAction = 'partner.update'

/**
 * A year of the audit log in `rows` rows, newest first by their number: an actor who left after the first month, an action and an
 * organization that only the oldest forty rows have. As the superuser, with the words of each row as the product's trigger writes them.
 */
export async function fillLog(sql: postgres.Sql, { partnerId }: Place, rows: number): Promise<void> {
  const at = `now() - make_interval(secs => n * ${(365 * 86_400) / rows})`
  const isOldest = `n > ${rows - oldest}`
  const former = `n > ${Math.floor(rows * 0.92)} and n % 8 = 0`
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx.unsafe(`
      insert into organizations (id, partner_id, name, slug)
      select ${idSql('d1', 'n')}, '${partnerId}', 'Org ' || n, 'org-' || n from generate_series(1, ${organizations + 1}) n`)
    await tx.unsafe(`
      insert into audit_log (id, at, partner_id, org_id, actor_type, actor_id, actor_email, action, resource_type, resource_id,
        resource_name, result, details, ip, user_agent, request_id)
      select ${idAtSql(at)}, ${at}, '${partnerId}',
        case when ${isOldest} then '${quietOrganization}'::uuid when n % 10 = 0 then null else ${idSql('d1', `n % ${organizations} + 1`)} end,
        'user', case when ${former} then '${formerActor}'::uuid else ${idSql('d0', `(n::bigint * 7919) % ${actors} + 1`)} end,
        'user' || (n::bigint * 7919) % ${actors} + 1 || '@msp.example',
        case when ${isOldest} then '${rareAction}' else (array['user.login', 'device.command.send', 'device.command.send', 'device.enroll',
          'user.update', 'role.update', 'site.update', 'organization.update', 'user.logout', 'device.auto_update.set'])[n % 10 + 1] end,
        'device', ${idSql('d2', `(n::bigint * 104729) % ${devices}`)}, 'host-' || lpad(((n::bigint * 104729) % ${devices})::text, 5, '0'),
        case when n % 50 = 0 then 'failure' else 'success' end,
        jsonb_build_object('type', 'refresh_inventory', 'from', 'v' || n % 9, 'note', case when ${isOldest} then 'heirloom' else 'routine' end),
        '192.0.2.7', 'Mozilla/5.0', gen_random_uuid()::text
      from generate_series(1, ${rows}) n order by n desc`)
    await tx`drop index audit_words_found`
    await tx`
      insert into audit_words (audit_id, at, partner_id, org_id, words)
      select a.id, a.at, a.partner_id, a.org_id, svc.words_of_audit(a) from audit_log a where a.partner_id = ${partnerId}
      on conflict do nothing`
    await tx`create index audit_words_found on audit_words using gin (words) with (fastupdate = off)`
  })
  await sql.unsafe('vacuum (analyze) audit_log, audit_words')
  await sql.unsafe('checkpoint')
}
