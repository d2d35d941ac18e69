import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'

const lookEveryMs = 100

export interface PresenceRow {
  deviceId: string
  connectivity: string
  node: string | null
  epoch: number
  /** the node's lease has not run out */
  live: boolean
  lastSeenAt: Date | null
}

export const presenceRows = (sql: postgres.Sql): Promise<PresenceRow[]> => sql<PresenceRow[]>`
  select d.id as device_id, d.connectivity, p.node, p.epoch, p.last_seen_at, coalesce(g.lease_until > now(), false) as live
  from devices d join device_presence p on p.device_id = d.id left join gateway_nodes g on g.node = p.node`

/**
 * What is wrong with presence, one line each: a device that holds a connection by its own word is online, on a live node, at the
 * epoch of that very connection.
 */
export function presenceFaults(
  deviceIds: readonly string[],
  epochs: ReadonlyMap<string, number>,
  rows: readonly PresenceRow[],
): string[] {
  const byId = new Map(rows.map((row) => [row.deviceId, row]))
  return deviceIds.flatMap((id) => {
    const [row, epoch] = [byId.get(id), epochs.get(id)]
    if (epoch === undefined) return [`device ${id} has no connection`]
    if (!row) return [`device ${id} is unknown`]
    const faults: string[] = []
    if (row.connectivity !== 'online')
      faults.push(`device ${id} is connected and counts as ${row.connectivity}`)
    if (!row.live) faults.push(`device ${id} is on ${row.node ?? 'no node'}, which is not live`)
    if (row.epoch !== epoch) faults.push(`device ${id} is at epoch ${epoch}, known is ${row.epoch}`)
    return faults
  })
}

/** Looks at `devices.connectivity` all the time and remembers who was seen offline, and when first. */
export class PresenceWatch {
  readonly #running: Promise<void>
  #stopped = false
  /** device → when it was first seen offline */
  readonly offline = new Map<string, number>()
  looks = 0

  constructor(sql: postgres.Sql) {
    this.#running = this.#look(sql)
    this.#running.catch(() => undefined) // told by `stop`; a test that failed before it has said enough
  }

  async stop(): Promise<Map<string, number>> {
    this.#stopped = true
    await this.#running
    return this.offline
  }

  async #look(sql: postgres.Sql): Promise<void> {
    while (!this.#stopped) {
      const rows = await sql<{ id: string }[]>`select id from devices where connectivity = 'offline'`
      for (const { id } of rows) if (!this.offline.has(id)) this.offline.set(id, Date.now())
      this.looks++
      await sleep(lookEveryMs)
    }
  }
}
