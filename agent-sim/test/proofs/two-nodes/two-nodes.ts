import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../system/harness/api.ts'
import { Account } from '../account.ts'
import { type FleetProcess, onlineAfter, startFleetProcess } from '../fleets.ts'
import { Load } from '../load.ts'
import { paceOf, variablesOf } from '../pace.ts'
import { playOnce } from '../play-once.ts'
import { pickSome, randomFrom } from '../random.ts'
import { none, type Row, seconds, within } from '../verdict.ts'
import { offlineEvents } from '../watch.ts'
import { type Part, parts, strike } from './blows.ts'
import { type Site, startSite } from './site.ts'

export const twoNodesPlants = ['no-keys', 'no-sync'] as const
export type TwoNodesPlant = (typeof twoNodesPlants)[number]

export interface TwoNodes {
  /** how long work is asked for, at least */
  seconds: number
  agents: number
  /** commands per second */
  rate: number
  seed: number
  /** guards that are taken away: callers repeat requests without a key; Postgres answers before it has synced */
  plants?: readonly TwoNodesPlant[]
  /** what is killed, in random order; everything */
  kills?: readonly Part[]
  /** how long after the last return all has to be as it should be; a minute */
  convergeWithinMs?: number
  say: (line: string) => void
}

const onlineWithinMs = 120_000
const aMinute = 60_000
const synced = { synchronous_commit: 'on', wal_writer_delay: '200ms', wal_writer_flush_after: '1MB' }
/** What was said to be committed lies in memory for seconds. */
const unsynced = { synchronous_commit: 'off', wal_writer_delay: '10s', wal_writer_flush_after: '1GB' }
const restMs = 500
/** Requests that are asked again at the end. */
const again = 50

/**
 * Two control planes and two gateways behind HAProxy, with one Redis and one Postgres. Each is killed once under load and started
 * again. Judged from the agents' ledgers, Postgres and what callers saw.
 */
export const twoNodes = (options: TwoNodes): Promise<Row[]> => playOnce(Stage, options)

/** The site with its agents, on which one play may follow another. */
export class Stage {
  readonly #site: Site
  readonly #api: Api
  readonly #fleet: FleetProcess
  readonly #ids: string[]
  #load: Load | undefined

  private constructor(site: Site, api: Api, fleet: FleetProcess) {
    this.#site = site
    this.#api = api
    this.#fleet = fleet
    this.#ids = fleet.devices.map(({ deviceId }) => deviceId)
  }

  static async open({ agents, seed, say, ...options }: TwoNodes): Promise<Stage> {
    const site = await startSite(variablesOf(paceOf(options.seconds)))
    const opened: FleetProcess[] = []
    try {
      const { system } = site
      const api = await system.admin()
      const switches = { '--transport': 'mix', '--seed': String(seed) }
      const fleet = await startFleetProcess(system, 'crowd', agents, switches)
      opened.push(fleet)
      const onlineMs = await onlineAfter(system, fleet, onlineWithinMs)
      if (!Number.isFinite(onlineMs)) throw new Error('the agents do not come online')
      say(`${agents} agents are connected through HAProxy after ${seconds(onlineMs)}`)
      return new Stage(site, api, fleet)
    } catch (error) {
      await Promise.all(opened.map(({ program }) => program.kill()))
      await site.close()
      throw error
    }
  }

  async play(options: TwoNodes): Promise<Row[]> {
    const { plants = [], kills = parts, convergeWithinMs = aMinute, say } = options
    const { system, postgres } = this.#site
    const random = randomFrom(options.seed)
    await postgres.set(plants.includes('no-sync') ? unsynced : synced)
    const load = new Load(this.#api, random, { withKey: !plants.includes('no-keys') })
    // What was asked for in an earlier play is in the database, too.
    load.accepted.push(...(this.#load?.accepted ?? []))
    this.#load = load
    load.targets.push(...this.#ids)
    load.start(options.rate)
    await strikeAll(this.#site, pickSome(kills, kills.length, random), options, load)
    const since = Date.now()
    await load.stop()
    const account = new Account(system, [this.#fleet], load)
    const convergedMs = await account.converged(since, this.#ids, convergeWithinMs)
    say(`all is as it should be after ${seconds(convergedMs)}; callers saw and mended ${toldOf(load)}`)
    const offline = await offlineEvents(system.sql)
    return [
      ...(await account.rows()),
      none(
        `requests asked again with their key, of ${again}, that have another answer`,
        await load.askedAgain(pickSome(load.accepted, again, random)),
      ),
      within('after the last return all is as it should be', convergeWithinMs, [convergedMs]),
      none(
        'devices that counted as offline meanwhile',
        this.#ids.filter((id) => offline.has(id)),
      ),
    ]
  }

  async close(): Promise<void> {
    await this.#load?.stop()
    await this.#fleet.program.kill()
    await this.#site.close()
  }
}

/** One after the other, spread over the time there is. */
async function strikeAll(
  site: Site,
  order: readonly Part[],
  { seconds: lasts, say }: TwoNodes,
  load: Load,
): Promise<void> {
  const began = Date.now()
  const shareMs = (lasts * 1000) / order.length
  const awayMs = Math.min(4_000, shareMs / 3)
  for (const [at, part] of order.entries()) {
    await sleep(Math.max(restMs, began + at * shareMs + shareMs / 4 - Date.now()))
    const before = load.accepted.length
    await strike(site, part, awayMs)
    const meanwhile = load.accepted.length - before
    say(
      `${part} was ${part === 'HAProxy' ? 'reloaded' : 'killed and is back'}; ${meanwhile} accepted meanwhile`,
    )
  }
  await sleep(Math.max(2 * restMs, began + lasts * 1000 - Date.now()))
}

const toldOf = ({ mended }: Load): string =>
  mended.size === 0 ? 'no errors' : [...mended].map(([what, times]) => `${times} × ${what.trim()}`).join(', ')
