import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'

/** A row is written once a second at most: at this pace none is overwritten unseen. */
const lookEveryMs = 200

/** When each contact was that the database came to know of within `forMs`, in milliseconds since 1970, one entry per device and contact. */
export async function contactsIn(
  sql: postgres.Sql,
  deviceIds: readonly string[],
  forMs: number,
): Promise<number[]> {
  const seen = new Map<string, number>()
  const contacts: number[] = []
  for (const until = performance.now() + forMs; performance.now() < until; await sleep(lookEveryMs)) {
    const rows = await sql<{ deviceId: string; lastSeenAt: Date }[]>`
      select device_id, last_seen_at from device_presence
      where device_id = any(${deviceIds as string[]}::uuid[]) and last_seen_at is not null`
    for (const { deviceId, lastSeenAt } of rows) {
      const at = lastSeenAt.getTime()
      if (seen.get(deviceId) === at) continue
      // What was there before is of no known freshness.
      if (seen.has(deviceId)) contacts.push(at)
      seen.set(deviceId, at)
    }
  }
  return contacts
}
