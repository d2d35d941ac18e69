import type { Db } from '../../kernel/tenancy.ts'

/** The one clock that all processes share; milliseconds. */
export async function databaseNow(db: Db): Promise<number> {
  const row = await db.one<{ now: Date }>`select now() as now`
  if (!row) throw new Error('the database told no time')
  return row.now.getTime()
}
