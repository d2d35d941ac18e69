import postgres from 'postgres'
import { setTimeout as sleep } from 'node:timers/promises'

const lookEveryMs = 250
const final = ['succeeded', 'failed', 'timed_out', 'cancelled', 'expired', 'rejected', 'interrupted']

/**
 * Looks at the database through a connection of its own, as a stranger to the product: what it counts are rows, not what
 * the product says about itself.
 */
export class Witness {
  readonly #sql: postgres.Sql
  readonly #seen = new Map<string, string>()
  #watching: Promise<void> | undefined
  #stopped = false
  /** Contacts that became visible in the database: changes of a device's last contact. */
  contacts = 0

  constructor(url: string) {
    this.#sql = postgres(url, { max: 2, connection: { search_path: 'svc' }, onnotice: () => undefined })
  }

  /** The ids of devices with a live connection and a contact in the last `withinMs`. */
  async connected(withinMs: number): Promise<string[]> {
    const rows = await this.#sql<{ id: string }[]>`
      select p.device_id as id from device_presence p join gateway_nodes g on g.node = p.node and g.lease_until > now()
      where p.last_seen_at > now() - ${withinMs} * interval '1 millisecond'`
    return rows.map(({ id }) => id)
  }

  /** Whether the database says that the device has a connection. */
  async hasConnection(deviceId: string): Promise<boolean> {
    const [row] = await this
      .#sql`select from device_presence where device_id = ${deviceId} and node is not null`
    return row !== undefined
  }

  /** The status of every command there is, by id. */
  async commands(): Promise<Map<string, string>> {
    const rows = await this.#sql<{ id: string; status: string }[]>`select id, status from commands`
    return new Map(rows.map(({ id, status }) => [id, status]))
  }

  /** Counts contacts from now on, until `stopWatching`. */
  watch(): void {
    this.#watching ??= this.#look()
  }

  async #look(): Promise<void> {
    for (let first = true; !this.#stopped; first = false) {
      const rows = await this.#sql<{ deviceId: string; at: string }[]>`
        select device_id as "deviceId", last_seen_at::text as at from device_presence where last_seen_at is not null`
      for (const { deviceId, at } of rows) {
        if (!first && this.#seen.get(deviceId) !== at) this.contacts++
        this.#seen.set(deviceId, at)
      }
      await sleep(lookEveryMs)
    }
  }

  async stopWatching(): Promise<void> {
    this.#stopped = true
    await this.#watching
  }

  async close(): Promise<void> {
    await this.stopWatching()
    await this.#sql.end({ timeout: 5 })
  }
}

/** Whether a command's status can change no more. */
export const isFinal = (status: string | undefined): boolean => status !== undefined && final.includes(status)
