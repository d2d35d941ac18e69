import type { Db } from '../../kernel/tenancy.ts'
import { moveOn, takeDue } from './due.ts'
import { databaseNow } from './database-now.ts'

const chunk = 100

/** Counts every moment that has passed as acted upon. Returns the ids of the schedules. */
export async function passOverDue(db: Db): Promise<string[]> {
  const passed: string[] = []
  const nowMs = await databaseNow(db)
  for (;;) {
    const due = await takeDue(db, chunk)
    const ids = due.map(({ id }) => id)
    await moveOn(db, due, new Set(ids), nowMs)
    passed.push(...ids)
    if (due.length < chunk) return passed
  }
}
