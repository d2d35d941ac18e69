import { playOnce } from '../play-once.ts'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../system/harness/api.ts'
import { check, type Testimony } from '../../system/harness/checker/checker.ts'
import { fleetLedgers } from '../../system/harness/checker/ledgers.ts'
import { commandRows } from '../../system/harness/judge.ts'
import { startSystem, type System } from '../../system/harness/system.ts'
import { until } from '../../system/harness/until.ts'
import { Account, rowsOf } from '../account.ts'
import { Cast, idsOf, type Played } from '../cast.ts'
import type { FleetProcess } from '../fleets.ts'
import type { Effect } from '../ledgers.ts'
import { Load, type Order } from '../load.ts'
import { OwnPostgres } from '../own-postgres.ts'
import { paceOf, variablesOf } from '../pace.ts'
import { randomFrom } from '../random.ts'
import { closedAfter } from '../strangers.ts'
import { letIn } from '../upheaval.ts'
import { all, none, type Row, seconds, within } from '../verdict.ts'
import { Backup } from './backup.ts'

export interface Restore {
  /** how long work is asked for, half of it after the restore */
  seconds: number
  agents: number
  /** commands per second */
  rate: number
  seed: number
  /** a guard that is taken away: control planes take a restored database for the one before */
  plant?: 'no-notice' | undefined
  /** how long is waited until all is as it should be, for whatever it is; 60 s */
  patienceMs?: number
  say: (line: string) => void
}

const disownedWithinMs = 15_000
const firedWithinMs = 10_000
/** CREDENTIAL_INVALID: never again with this credential. */
const disowned = 4004

/** Brings the database back to an earlier moment while agents, gateways and Redis know better. */
export const restore = (options: Restore): Promise<Row[]> => playOnce(Stage, options)

/** Devices that something happens to, each played by this process. */
interface Scene {
  revokedBefore: Played[]
  revokedAfter: Played[]
  newcomers: Played[]
  moment: Date
  /** id of the schedule and when its moment was */
  schedule: { id: string; dueAt: Date }
}

/** The system with a backup, on which one restore may follow another. */
export class Stage {
  readonly #system: System
  readonly #postgres: OwnPostgres
  readonly #backup: Backup
  readonly #api: Api
  readonly #cast: Cast
  readonly #crowd: FleetProcess[]
  /** what must be in the database, over all plays */
  readonly #known: Order[] = []
  /** what was accepted and lies behind a moment that was gone back to */
  readonly #undone = new Set<string>()
  #plays = 0

  private constructor(parts: {
    system: System
    postgres: OwnPostgres
    backup: Backup
    api: Api
    cast: Cast
    crowd: FleetProcess[]
  }) {
    this.#system = parts.system
    this.#postgres = parts.postgres
    this.#backup = parts.backup
    this.#api = parts.api
    this.#cast = parts.cast
    this.#crowd = parts.crowd
  }

  static async open({ agents, say, ...options }: Restore): Promise<Stage> {
    const postgres = await OwnPostgres.start({ archive_mode: 'on' })
    const pace = paceOf(options.seconds)
    const system = await startSystem({
      gateways: 2,
      database: postgres.database,
      variables: variablesOf(pace),
    }).catch(async (error: Error) => {
      await postgres.close()
      throw error
    })
    const api = await system.admin()
    const cast = new Cast(system, api, pace.heartbeatMs, say)
    try {
      const crowd = await cast.crowd(agents)
      const backup = await Backup.take(postgres)
      say('a base backup was taken as it runs')
      return new Stage({ system, postgres, backup, api, cast, crowd })
    } catch (error) {
      await cast.close()
      await system.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#cast.close()
    await this.#system.close()
    this.#backup.close()
  }

  async play(options: Restore): Promise<Row[]> {
    const { say, patienceMs = 60_000 } = options
    const random = randomFrom(options.seed + this.#plays)
    const { scene, lost } = await this.#live(options, random)
    const wereUnderWay = await this.#goBack(scene.moment, say)
    const since = Date.now()
    const cutWithinMs = Math.min(disownedWithinMs, patienceMs)
    const disownedMs = Promise.all(scene.newcomers.map(({ caller }) => closedAfter(caller, cutWithinMs)))
    await this.#startAgain(options)
    const load = this.#loadWith(random)
    load.start(options.rate)
    await sleep(options.seconds * 500)
    await load.stop()
    this.#known.push(...load.accepted)
    const account = new Account(this.#system, this.#cast.fleets, load)
    const convergedMs = await account.converged(since, idsOf(this.#crowd), patienceMs)
    say(`all is as it should be ${seconds(convergedMs)} after the restore`)
    return [
      ...(await this.#workRows(lost, wereUnderWay)),
      ...(await this.#deviceRows(scene, await disownedMs)),
      within('after the restore all is as it should be', patienceMs, [convergedMs]),
      none('moments of a schedule that were acted upon again', await this.#firedAgain(scene)),
      await this.#toldRow(),
    ]
  }

  #loadWith(random: () => number): Load {
    const load = new Load(this.#api, random, { withKey: true })
    load.targets.push(...idsOf(this.#crowd))
    return load
  }

  /** Life before: work, and in its middle the moment that will be gone back to. */
  async #live(options: Restore, random: () => number): Promise<{ scene: Scene; lost: Order[] }> {
    const { say } = options
    const play = (this.#plays += 1)
    const shareMs = options.seconds * 250
    const load = this.#loadWith(random)
    const [revokedBefore, revokedAfter] = await Promise.all([
      this.#cast.played(`before${play}-`, 3),
      this.#cast.played(`after${play}-`, 3),
    ])
    load.start(options.rate)
    await revoke(this.#api, revokedBefore)
    await sleep(shareMs)
    const id = await this.#plan()
    await sleep(20) // times are told to the millisecond
    const moment = await this.#now()
    const dueAt = await this.#makeDue(id)
    say(`the moment that will be gone back to is ${moment.toISOString()}`)
    await sleep(300)
    await revoke(this.#api, revokedAfter)
    const newcomers = await this.#cast.played(`newcomer${play}-`, 3)
    await sleep(shareMs)
    await until('the schedule was acted upon', () => this.#fired(id, dueAt), firedWithinMs)
    await load.stop()
    const lost = load.accepted.filter(({ askedAt }) => askedAt > moment.getTime())
    for (const { id: commandId } of lost) this.#undone.add(commandId)
    this.#known.push(...load.accepted.filter(({ acceptedAt }) => acceptedAt < moment.getTime()))
    // What was asked for before and accepted after it may be on either side.
    const between = load.accepted.filter(
      (one) => one.askedAt <= moment.getTime() && one.acceptedAt >= moment.getTime(),
    )
    this.#between.push(...between)
    return {
      scene: { revokedBefore, revokedAfter, newcomers, moment, schedule: { id, dueAt } },
      lost,
    }
  }

  readonly #between: Order[] = []

  /** Returns the commands that the database knows to be under way at that moment. */
  async #goBack(moment: Date, say: Restore['say']): Promise<Set<string>> {
    await this.#backup.flush()
    await Promise.all([this.#system.api.kill(), this.#system.worker.kill()])
    await this.#postgres.stop()
    this.#backup.layOut(moment)
    await this.#postgres.startAgain()
    const rows = await commandRows(this.#system.sql)
    const there = new Set(rows.map(({ id }) => id))
    for (const order of this.#between.splice(0))
      if (there.has(order.id)) this.#known.push(order)
      else this.#undone.add(order.id)
    const open = rows.filter(({ finishedAt }) => !finishedAt).map(({ id }) => id)
    say(`the database is back at that moment; ${open.length} commands are under way there`)
    return new Set(open)
  }

  async #startAgain({ plant }: Restore): Promise<void> {
    const variables: Record<string, string> = plant ? { SVC_TEST_WITHOUT: 'notice_restore' } : {}
    await Promise.all([this.#system.startRole('api', variables), this.#system.startRole('worker', variables)])
  }

  async #workRows(lost: readonly Order[], wereUnderWay: ReadonlySet<string>): Promise<Row[]> {
    const rows = await commandRows(this.#system.sql)
    const effects = this.#cast.fleets.flatMap((fleet) => fleet.effects())
    const here = new Set(rows.map(({ id }) => id))
    const times = new Map<string, number>()
    for (const { commandId } of effects) times.set(commandId, (times.get(commandId) ?? 0) + 1)
    // A ledger keeps how a command ended, and its output only until the server has it.
    for (const order of this.#known) if (wereUnderWay.has(order.id)) delete order.stdout
    const ended = rows.filter(({ id, status }) => wereUnderWay.has(id) && status === 'succeeded')
    return [
      all(
        'commands accepted after that moment, which the database lacks',
        lost.length,
        lost.filter(({ id }) => !here.has(id)).length,
      ),
      all(
        'commands under way at that moment, whose devices said how they ended',
        wereUnderWay.size,
        ended.length,
      ),
      none(
        'commands that ran twice, on either side of that moment',
        [...times].filter(([, count]) => count > 1).map(([id, count]) => `${id} ran ${count} times`),
      ),
      ...rowsOf(await check(this.#system, this.#testimony(effects))),
    ]
  }

  /** What the database lacks, the devices have done all the same: it is left out, with what they know of it. */
  #testimony(effects: readonly Effect[]): Testimony {
    const here = ({ commandId }: { commandId: string }) => !this.#undone.has(commandId)
    const ledgers = this.#cast.fleets.flatMap(({ folder }) => fleetLedgers(folder))
    return { accepted: this.#known, effects: effects.filter(here), ledgers: ledgers.filter(here) }
  }

  async #deviceRows(scene: Scene, disownedMs: readonly number[]): Promise<Row[]> {
    const { revokedBefore, revokedAfter, newcomers } = scene
    const codes = await Promise.all(
      newcomers.map(({ caller }) => Promise.race([caller.peer.closed, sleep(0, undefined)])),
    )
    const again = await letIn(this.#system, revokedAfter)
    return [
      none('devices revoked before that moment that are let in', await letIn(this.#system, revokedBefore)),
      all(
        'devices revoked after it that are let in, as the database says',
        revokedAfter.length,
        new Set(again).size,
      ),
      within('a device enrolled after it is cut', disownedWithinMs, disownedMs),
      none(
        '… for another reason than that its credential is none',
        codes.filter((code) => code !== disowned).map(String),
      ),
      none('… or let in again', await letIn(this.#system, newcomers)),
    ]
  }

  async #now(): Promise<Date> {
    const [row] = await this.#system.sql<{ now: Date }[]>`select clock_timestamp() as now`
    if (!row) throw new Error('the database does not say what time it is')
    return row.now
  }

  /** A schedule that is far from due. */
  async #plan(): Promise<string> {
    const id = randomUUID()
    const timing = { kind: 'cron', expression: '0 0 1 1 *', zone: 'UTC' }
    await this.#system.sql`
      insert into schedule_entries (id, partner_id, key, task, payload, timing, misfire, due_at)
      select ${id}, p.id, ${id}, 'prune', '{"what": "failed_jobs"}'::jsonb, ${this.#system.sql.json(timing)}, 'once',
        date_trunc('milliseconds', now()) + interval '2 seconds'
      from partners p limit 1`
    return id
  }

  async #makeDue(id: string): Promise<Date> {
    const [row] = await this.#system.sql<
      { dueAt: Date }[]
    >`select due_at from schedule_entries where id = ${id}`
    if (!row) throw new Error('there is no schedule')
    return row.dueAt
  }

  async #fired(id: string, dueAt: Date): Promise<boolean> {
    const rows = await this.#system
      .sql`select from schedule_runs where schedule_id = ${id} and due_at = ${dueAt}`
    return rows.length > 0
  }

  async #firedAgain({ schedule: { id, dueAt } }: Scene): Promise<string[]> {
    return (await this.#fired(id, dueAt)) ? [`that of ${dueAt.toISOString()}`] : []
  }

  async #toldRow(): Promise<Row> {
    const rows = await this.#system.sql`select from audit_log where action = 'database.restored'`
    const logs = [this.#system.api, this.#system.worker].map((program) => program.log())
    const inLog = logs.filter((log) => log.includes('another life of the database')).length
    return {
      what: 'times that the operator is told, in the audit log and in a log',
      expected: `${this.#plays} and 1`,
      seen: `${rows.length} and ${inLog}`,
      pass: rows.length === this.#plays && inLog === 1,
    }
  }
}

const revoke = (api: Api, devices: readonly Played[]): Promise<unknown> =>
  Promise.all(devices.map(({ deviceId }) => api.want(200, 'DELETE', `/devices/${deviceId}`)))
