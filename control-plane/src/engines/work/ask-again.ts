import type { Db } from '../../kernel/tenancy.ts'

/**
 * In a life of the database that lacks what happened last: everything that a device may have answered meanwhile is owed again. What
 * the device's ledger knows is answered from there, and not run again. Returns how many commands that are.
 */
export async function askAgain(db: Db): Promise<number> {
  await db.run`
    update commands c set status = 'queued', lease_until = null, deadline_at = null
    where ${db.visible('c')} and c.status in ('delivered', 'running')`
  const row = await db.one<{ count: number }>`
    select count(*)::int as count from commands c where ${db.visible('c')} and c.status = 'queued'`
  return row?.count ?? 0
}

/**
 * Whether devices are still asked about this command, of an alias of `commands`: it is older than the present life, and its time has
 * not run out here as long as its device may know better.
 */
export const stillAsked = (db: Db, alias: string) =>
  db.sql`exists (select from database_lives l where l.ask_until > now() and ${db.sql(alias)}.created_at < l.began_at)`
