import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import type postgres from 'postgres'
import type { Device } from './device.ts'
import type { Gateways } from './gateways.ts'

/** What is known of a device: by Postgres, and by the claims in Redis. */
interface Known {
  connectivity: string
  node: string | null
  epoch: number
  claimedBy: string | null
  claimedAt: number
  /** since when the node has its lease without a gap */
  leasedSince: Date | null
}

/** What is wrong, one line each: of devices that hold a connection, and of those that hold none. */
export interface Faults {
  held: string[]
  unheld: string[]
}

/** Looks at Postgres and Redis, and compares with what the models say. */
export class Comparison {
  readonly #sql: postgres.Sql
  readonly #redis: Redis
  readonly #gateways: Gateways

  constructor(sql: postgres.Sql, redisUrl: string, gateways: Gateways) {
    this.#sql = sql
    this.#redis = new Redis(redisUrl)
    this.#gateways = gateways
  }

  close(): void {
    this.#redis.disconnect()
  }

  /** @param heard each that holds a connection has sent a heartbeat since gateways were disturbed */
  async faults(devices: readonly Device[], heard: boolean): Promise<Faults> {
    const known = await this.#known(devices.map(({ id }) => id))
    const faults: Faults = { held: [], unheld: [] }
    for (const device of devices) {
      const one = known.get(device.id)
      const { holder } = device.model.expected(this.#gateways.isDead)
      const wrong = [
        ...device.model.faults(this.#gateways.isDead),
        ...(one ? this.#wrong(device, one, heard) : ['is not known']),
      ]
      faults[holder ? 'held' : 'unheld'].push(...wrong.map((what) => `device ${device.id}: ${what}`))
    }
    return faults
  }

  #wrong(device: Device, one: Known, heard: boolean): string[] {
    const { holder, known } = device.model.expected(this.#gateways.isDead)
    const differs = (what: string, expected: unknown, seen: unknown) =>
      expected === seen ? [] : [`${what} is ${String(seen)}, not ${String(expected)}`]
    if (holder) {
      const node = this.#gateways.nodeOf(holder.life)
      return [
        ...(!heard && this.#gateways.hasLapsed(holder.life, one.leasedSince)
          ? []
          : differs('status', 'online', one.connectivity)),
        ...differs('node', node, one.node),
        ...differs('epoch', holder.epoch, one.epoch),
        ...differs('claim', `${node} at ${holder.epoch}`, `${one.claimedBy} at ${one.claimedAt}`),
      ]
    }
    const isNobody = (node: string | null) => node === null || this.#gateways.isDeadNode(node)
    return [
      ...differs('status', 'offline', one.connectivity),
      ...(isNobody(one.node) ? [] : [`it is held by ${one.node}`]),
      // Of somebody who was never welcomed a claim may stay behind; it turns out nobody.
      ...(isNobody(one.claimedBy) || one.claimedAt !== known.last
        ? []
        : [`it is claimed by ${one.claimedBy}`]),
      ...(one.epoch >= known.least && one.epoch <= known.most
        ? []
        : [`epoch is ${one.epoch}, not ${known.least} to ${known.most}`]),
      ...(one.claimedAt <= known.most ? [] : [`it was claimed at ${one.claimedAt}, not ${known.most}`]),
    ]
  }

  async #known(ids: readonly string[]): Promise<Map<string, Known>> {
    const sql = this.#sql
    const rows = await sql<({ id: string } & Omit<Known, 'claimedBy' | 'claimedAt'>)[]>`
      select d.id, d.connectivity, p.node, p.epoch, g.started_at as leased_since
      from devices d join device_presence p on p.device_id = d.id left join gateway_nodes g on g.node = p.node
      where d.id = any(${[...ids]}::uuid[])`
    const pipeline = this.#redis.pipeline()
    for (const { id } of rows) pipeline.hmget(names.device(id), 'n', 'e')
    const claims = (await pipeline.exec()) ?? []
    return new Map(
      rows.map(({ id, ...row }, at) => {
        const [error, answer] = claims[at] ?? []
        if (error) throw error
        const [claimedBy, claimedAt] = answer as [string | null, string | null]
        return [id, { ...row, claimedBy, claimedAt: Number(claimedAt) }]
      }),
    )
  }
}
