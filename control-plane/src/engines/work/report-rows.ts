import { bytesArray, plainArray, textArray } from '../../db/array-literal.ts'
import { isUuid } from '../../db/uuid.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Ended } from './command.ts'
import type { Finish, Output } from './outcome.ts'

/** A command that a device reports on, as it stands. */
export interface ReportedCommand extends Ended {
  /** when the device's own result came in; null: not yet, or the server ended it */
  resultAt: Date | null
  hasLate: boolean
  /** of the device's newest connection */
  epoch: number
  /** its device is that of another organization by now */
  left: boolean
  traceparent: string | null
  requestId: string | null
  /** seconds for which it has been what it is; of one that is queued, for which it has been due */
  since: number
  /** of one that is queued: seconds for which it could have been delivered, since its device was connected and its lane free */
  deliverable: number | null
}

/** Waits up to here are nobody's question, and so the lane is not looked at: seconds. */
const soon = 5

/** The commands by id, locked in id order. An id that is none is no command's. */
export async function lockReported(db: Db, ids: readonly string[]): Promise<Map<string, ReportedCommand>> {
  const rows = await db.rows<ReportedCommand>`
    select c.id, c.device_id, c.partner_id, c.org_id, c.type, c.status, c.result_at, c.late_result is not null as has_late,
      coalesce(p.epoch, 0) as epoch, coalesce(p.org_id <> c.org_id, false) as left, c.traceparent, c.request_id,
      extract(epoch from now() - w.since)::float8 as since,
      case when c.status = 'queued' then extract(epoch from now() - greatest(w.since, to_timestamp(p.epoch / 1e6),
        case when now() - w.since > make_interval(secs => ${soon}) then (
          select max(b.finished_at) from commands b where b.device_id = c.device_id and b.lane = c.lane and b.seq < c.seq
            and b.created_at > c.created_at - interval '1 day') end)) end::float8 as deliverable
    from commands c left join device_presence p on p.device_id = c.device_id
    cross join lateral (select case c.status when 'queued' then greatest(c.created_at, c.not_before)
      when 'delivered' then c.delivered_at else coalesce(c.started_at, c.delivered_at) end as since) w
    where c.id = any(${plainArray([...new Set(ids.filter(isUuid))])}::uuid[])
    order by c.id for update of c`
  return new Map(rows.map((row) => [row.id, row]))
}

/** Acknowledged or started. The time it is given counts from the last of the two. */
export function writeStarted(db: Db, commands: readonly ReportedCommand[], graceMs: number): void {
  if (commands.length === 0) return
  db.later`
    update commands c set status = b.status, lease_until = null,
      delivered_at = coalesce(c.delivered_at, now()),
      started_at = case when b.status = 'running' then now() end,
      deadline_at = now() + make_interval(secs => (c.timeout_ms + ${graceMs}::integer) / 1000.0)
    from unnest(${plainArray(commands.map((c) => c.id))}::uuid[], ${plainArray(commands.map((c) => c.status))}::text[])
      as b (id, status)
    where c.id = b.id`
}

/** Times are the server's; only how long it ran is the device's word. */
export function writeFinished(db: Db, finished: readonly (readonly [ReportedCommand, Finish])[]): void {
  if (finished.length === 0) return
  const all = finished.map(([, finish]) => finish)
  const out = all.map((finish) => finish.stdout)
  const err = all.map((finish) => finish.stderr)
  db.later`
    update commands c set status = b.status, result_at = now(), finished_at = now(), lease_until = null,
      delivered_at = coalesce(c.delivered_at, now()),
      started_at = coalesce(c.started_at, greatest(c.created_at, now() - make_interval(secs => b.ran_ms / 1000.0))),
      exit_code = b.exit_code, result = b.result::jsonb, error = b.error,
      stdout = b.stdout, stdout_encoding = b.stdout_encoding, stdout_size = b.stdout_size,
      stdout_truncated = b.stdout_truncated,
      stderr = b.stderr, stderr_encoding = b.stderr_encoding, stderr_size = b.stderr_size,
      stderr_truncated = b.stderr_truncated
    from unnest(${plainArray(finished.map(([c]) => c.id))}::uuid[], ${plainArray(finished.map(([c]) => c.status))}::text[],
      ${plainArray(all.map((f) => f.ranMs))}::bigint[], ${plainArray(all.map((f) => f.exitCode))}::int[],
      ${textArray(all.map((f) => f.result))}::text[], ${textArray(all.map((f) => f.error))}::text[],
      ${bytesArray(out.map((o) => o?.data))}::bytea[], ${textArray(out.map((o) => o?.encoding))}::text[],
      ${plainArray(out.map((o) => o?.size))}::bigint[], ${plainArray(out.map((o) => o?.truncated))}::boolean[],
      ${bytesArray(err.map((o) => o?.data))}::bytea[], ${textArray(err.map((o) => o?.encoding))}::text[],
      ${plainArray(err.map((o) => o?.size))}::bigint[], ${plainArray(err.map((o) => o?.truncated))}::boolean[])
      as b (id, status, ran_ms, exit_code, result, error, stdout, stdout_encoding, stdout_size, stdout_truncated,
        stderr, stderr_encoding, stderr_size, stderr_truncated)
    where c.id = b.id`
}

/** Bytes of each stream that are kept of a late result: enough to see what it was. */
const lateOutputBytes = 65_536

const lateOutput = (output: Output | undefined) =>
  output && {
    base64: Buffer.from(output.data.subarray(0, lateOutputBytes)).toString('base64'),
    encoding: output.encoding,
    size: output.size,
    truncated: output.truncated || output.data.length > lateOutputBytes,
  }

/** Arrived after the server had ended the command: kept beside it, and nothing else changes. */
export function writeLate(db: Db, late: readonly (readonly [ReportedCommand, Finish])[]): void {
  if (late.length === 0) return
  const texts = late.map(([, finish]) => {
    const { outcome, exitCode, error, result } = finish
    return JSON.stringify({
      receivedAt: new Date().toISOString(),
      outcome,
      exitCode,
      error,
      result: result === null ? null : (JSON.parse(result) as unknown),
      stdout: lateOutput(finish.stdout),
      stderr: lateOutput(finish.stderr),
    })
  })
  db.later`
    update commands c set late_result = b.late::jsonb
    from unnest(${plainArray(late.map(([c]) => c.id))}::uuid[], ${textArray(texts)}::text[]) as b (id, late)
    where c.id = b.id`
}
