import type postgres from 'postgres'
import { deviceIdSql } from '../stage/devices.ts'

const perDevice = 10

/**
 * What the first devices of the stage were told to do before, all of it ended: statements are planned for the table of a fleet that has been at work.
 * For an empty one Postgres decides to read all of it, and goes on so while it grows, until it is analyzed.
 */
export async function giveHistory(sql: postgres.Sql, count: number, userId: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx.unsafe(`
      insert into commands (id, partner_id, org_id, device_id, type, lane, args, status, issued_by, created_at, not_before, expires_at, timeout_ms,
        attempt, offered_epoch, delivered_at, started_at, finished_at, result_at, exit_code, stdout, stdout_encoding, stdout_size, stdout_truncated)
      select gen_random_uuid(), d.partner_id, d.org_id, d.id, 'run_script', 'work', '{"interpreter": "sh", "content": "true"}', 'succeeded',
        'user:${userId}', t.at, t.at, t.at + interval '7 days', 300000, 1, 1, t.at, t.at, t.at, t.at, 0, 'done', 'utf-8', 4, false
      from devices d, generate_series(1, ${perDevice}) n, lateral (select now() - make_interval(days => n, secs => random() * 86400) as at) t
      where d.id <= ${deviceIdSql(String(count))}`)
  })
  await sql`vacuum analyze commands`
  await sql`checkpoint`
}
