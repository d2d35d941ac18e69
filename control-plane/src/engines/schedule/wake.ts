import type { Db } from '../../kernel/tenancy.ts'

/** Where workers hear of moments that they would look for too late. */
export const wakeChannel = 'svc_schedules'
/** Workers look for due moments at least this often: nobody need be told of one that is further away. */
const nearSeconds = 1

/** Wakes workers when the transaction commits, if that moment is near: commits that notify wait for one another, so not for nothing. */
export async function wakeAt(db: Db, dueAt: Date | null): Promise<void> {
  if (!dueAt) return
  await db.run`
    select pg_notify(${wakeChannel}, '')
    where ${dueAt}::timestamptz < now() + make_interval(secs => ${nearSeconds}::float8)`
}
