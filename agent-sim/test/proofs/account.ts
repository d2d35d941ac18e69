import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { check } from '../system/harness/checker/checker.ts'
import { fleetLedgers } from '../system/harness/checker/ledgers.ts'
import { invariants, type Verdict } from '../system/harness/checker/verdict.ts'
import { commandRows } from '../system/harness/judge.ts'
import { presenceRows } from '../system/harness/presence.ts'
import type { System } from '../system/harness/system.ts'
import type { FleetProcess } from './fleets.ts'
import { acknowledgedBy, type Effect } from './ledgers.ts'
import { type Load, longestScriptSeconds, type Order } from './load.ts'
import { all, none, percentile, type Row, seconds, within } from './verdict.ts'

const lookEveryMs = 500

/** What became of the work that was accepted, by Postgres and by the ledgers of the agents. */
export class Account {
  readonly #system: System
  readonly #fleets: readonly FleetProcess[]
  readonly #load: Load

  /** @param fleets may grow */
  constructor(system: System, fleets: readonly FleetProcess[], load: Load) {
    this.#system = system
    this.#fleets = fleets
    this.#load = load
  }

  /**
   * What must have come of the work of an outage before it ends, leaving out what is too young for it by `untilMs`, and devices whose
   * agents were `away` for a while. Others on the machine may add `busyMs`.
   */
  async meanwhile(
    sinceMs: number,
    { heartbeatMs, exchangeMs }: { heartbeatMs: number; exchangeMs: number },
    away: readonly string[],
    { untilMs = Date.now(), busyMs = 0 }: { untilMs?: number; busyMs?: number } = {},
  ): Promise<Row[]> {
    const ripeMs = heartbeatMs + exchangeMs + longestScriptSeconds * 1000
    const ripe = this.#load.accepted.filter(
      (one) => one.askedAt > sinceMs && one.acceptedAt < untilMs - ripeMs && !away.includes(one.deviceId),
    )
    const rows = await commandRows(this.#system.sql)
    const ended = new Set(rows.filter(({ finishedAt }) => finishedAt).map(({ id }) => id))
    const acknowledged = this.#acknowledged(ripe)
    const begun = new Map(this.#effects().map(({ commandId, at }) => [commandId, at]))
    const delays = ripe.map((one) => (begun.get(one.id) ?? Number.POSITIVE_INFINITY) - one.askedAt)
    const shown = `p50 ${seconds(percentile(delays, 0.5))}, p99 ${seconds(percentile(delays, 0.99))}`
    return [
      all('commands accepted while Redis was gone that ended meanwhile', ripe.length, count(ripe, ended)),
      all('their results that agents know to be committed', ripe.length, count(ripe, acknowledged)),
      within(`from asking to the agent’s ledger (${shown})`, heartbeatMs + busyMs, delays),
    ]
  }

  /** How long after `sinceMs` all work had ended and rows, claims and leases agreed; infinite when not within `withinMs`. */
  async converged(sinceMs: number, ids: readonly string[], withinMs: number): Promise<number> {
    for (; Date.now() - sinceMs < withinMs; await sleep(lookEveryMs)) {
      if ((await this.#unended()) > 0 || !(await this.#allThere(ids))) continue
      return Date.now() - sinceMs
    }
    return Number.POSITIVE_INFINITY
  }

  /** After the end of everything. */
  async rows(): Promise<Row[]> {
    const { accepted, refused } = this.#load
    const rows = await commandRows(this.#system.sql)
    const done = new Set(rows.filter(({ status }) => status === 'succeeded').map(({ id }) => id))
    return [
      none('requests for work that were refused', refused),
      all('accepted commands that succeeded', accepted.length, count(accepted, done)),
      ...(await this.invariants()),
    ]
  }

  /** A line for each invariant, once all has come to rest; what was accepted may have ended otherwise where it says so. */
  async invariants(): Promise<Row[]> {
    const { accepted, asked } = this.#load
    const ledgers = this.#fleets.flatMap(({ folder }) => fleetLedgers(folder))
    return rowsOf(await check(this.#system, { accepted, asked, effects: this.#effects(), ledgers }))
  }

  #effects(): Effect[] {
    return this.#fleets.flatMap((fleet) => fleet.effects())
  }

  #acknowledged(orders: readonly Order[]): Set<string> {
    const folders = new Map(
      this.#fleets.flatMap(({ folder, devices }) => devices.map(({ deviceId }) => [deviceId, folder])),
    )
    const devices = new Set(orders.map(({ deviceId }) => deviceId))
    return new Set([...devices].flatMap((id) => [...acknowledgedBy(folders.get(id) ?? '', id)]))
  }

  async #unended(): Promise<number> {
    const [row] = await this.#system.sql<{ left: number }[]>`
      select count(*)::int as left from commands where finished_at is null`
    return row?.left ?? 0
  }

  /** Each is online, on a node that is live, and claimed in Redis by that node at that epoch. */
  async #allThere(ids: readonly string[]): Promise<boolean> {
    const wanted = new Set(ids)
    const rows = (await presenceRows(this.#system.sql)).filter(({ deviceId }) => wanted.has(deviceId))
    if (rows.length < ids.length || rows.some((row) => !row.live || row.connectivity !== 'online'))
      return false
    const redis = new Redis(this.#system.redis.url)
    try {
      const claims = await Promise.all(rows.map(({ deviceId }) => redis.hmget(`dev:${deviceId}`, 'n', 'e')))
      return claims.every(([node, epoch], at) => node === rows[at]?.node && Number(epoch) === rows[at]?.epoch)
    } finally {
      redis.disconnect()
    }
  }
}

const count = (orders: readonly Order[], ids: ReadonlySet<string>): number =>
  orders.filter(({ id }) => ids.has(id)).length

export const rowsOf = (verdict: Verdict): Row[] =>
  (Object.keys(invariants) as (keyof Verdict)[]).map((name) => none(invariants[name], verdict[name]))
