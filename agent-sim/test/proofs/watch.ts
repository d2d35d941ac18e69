import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'

const lookEveryMs = 1_000

/** Looks at the contacts of devices that are there all the time: how old the oldest of them ever was. */
export class ContactWatch {
  /** of the devices that are to be heard from; may grow */
  readonly ids: string[] = []
  worstAgeMs = 0
  readonly #sql: postgres.Sql
  #running: Promise<void> | undefined
  #stopped = false

  constructor(sql: postgres.Sql) {
    this.#sql = sql
  }

  start(): void {
    this.#running = this.#look()
    this.#running.catch(() => undefined) // told by `stop`
  }

  /** Idempotent. Rejects when it could not look. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #look(): Promise<void> {
    const sql = this.#sql
    for (; !this.#stopped; await sleep(lookEveryMs)) {
      const [row] = await sql<{ ageMs: number | null }[]>`
        select (extract(epoch from now() - min(last_seen_at)) * 1000)::float8 as age_ms from device_presence
        where device_id = any(${this.ids}::uuid[])`
      this.worstAgeMs = Math.max(this.worstAgeMs, row?.ageMs ?? Number.POSITIVE_INFINITY)
    }
  }
}

/** When devices were told to be offline, by the outbox, which keeps all of it; in milliseconds since 1970. */
export async function offlineEvents(sql: postgres.Sql): Promise<Map<string, number>> {
  const rows = await sql<{ subjectId: string; at: Date }[]>`
    select subject_id, min(at) as at from outbox where type = 'device.offline' group by subject_id`
  return new Map(rows.map(({ subjectId, at }) => [subjectId, at.getTime()]))
}
