import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDatabase } from '../../../control-plane/test/harness/database.ts'
import type { Api } from '../system/harness/api.ts'
import { startSystem, type System } from '../system/harness/system.ts'
import { Account } from './account.ts'
import { Cast, idsOf, type Played } from './cast.ts'
import type { FleetProcess } from './fleets.ts'
import { Load } from './load.ts'
import { Deaf } from './redis-away/deaf.ts'
import { type Pace, paceOf, variablesOf } from './pace.ts'
import { randomFrom } from './random.ts'
import { letIn, type Moves, moves, revoke } from './upheaval.ts'
import { none, passed, type Row, seconds, within } from './verdict.ts'
import { ContactWatch, offlineEvents } from './watch.ts'

export interface RedisAway {
  /** how long Redis is gone */
  seconds: number
  agents: number
  /** commands per second, all the time */
  rate: number
  seed: number
  /** takes the guard away of one gateway beside those that are judged: it hands nothing up while Redis is gone */
  plant?: 'no-exchange-up' | undefined
  /** what others on the machine may add to each span, where the figures are not what it is about; 0 */
  busyMs?: number
  /** where the rows are kept; by default a database of the test run's server */
  database?: TestDatabase | undefined
  /** told how it goes */
  say: (line: string) => void
}

const revokeWithinMs = 5_000
const convergeWithinMs = 60_000
/** What a busy machine may add to a span that is measured from outside. */
const slackMs = 2_000
/** Between a device's silence and the verdict: the marks of shards at rest, and the sweep. */
const verdictMs = 5_000
/** An agent waits for up to a second before it comes back, and its return has to become known. */
const returnMs = 3_000

/**
 * Redis dies under load and comes back empty after so many seconds. Judged from the agents' ledgers and Postgres alone, by code that
 * shares nothing with the product: accepted work is done once, in time and meanwhile; contacts are heard; a revocation acts; who
 * moves, comes or goes is seen to; and all of it is as before soon after Redis is back.
 */
export async function redisAway(options: RedisAway): Promise<Row[]> {
  const { database, say } = options
  const pace = paceOf(options.seconds)
  const system = await startSystem({
    gateways: 2,
    ...(database && { database }),
    variables: variablesOf(pace),
  })
  const proof = new Proof(system, await system.admin(), options, pace)
  try {
    return await proof.run()
  } finally {
    say('ending what was started')
    await proof.close()
    await system.close()
  }
}

/** Who is there when Redis dies. */
interface Scene {
  crowd: FleetProcess[]
  vanishing: FleetProcess
  retiring: Played[]
}

/** What happened while it was gone. Times in milliseconds. */
interface Outage {
  /** since 1970 */
  died: number
  joined: { ids: string[]; onlineMs: number }
  revokedMs: number[]
  moved: Moves
  /** what had come of the work before Redis returned */
  work: Row[]
  oldestContactMs: number
}

class Proof {
  readonly #system: System
  readonly #api: Api
  readonly #options: RedisAway
  readonly #pace: Pace
  readonly #busyMs: number
  readonly #random: () => number
  readonly #cast: Cast
  readonly #load: Load
  readonly #contacts: ContactWatch
  readonly #account: Account
  #deaf: Deaf | undefined
  #progress: NodeJS.Timeout | undefined

  constructor(system: System, api: Api, options: RedisAway, pace: Pace) {
    this.#system = system
    this.#api = api
    this.#options = options
    this.#pace = pace
    this.#busyMs = options.busyMs ?? 0
    this.#random = randomFrom(options.seed)
    this.#cast = new Cast(system, api, pace.heartbeatMs, options.say)
    this.#load = new Load(api, this.#random)
    this.#contacts = new ContactWatch(system.sql)
    this.#account = new Account(system, this.#cast.fleets, this.#load)
  }

  async close(): Promise<void> {
    clearInterval(this.#progress)
    await this.#load.stop()
    await this.#contacts.stop()
    await this.#deaf?.close()
    await this.#cast.close()
  }

  async run(): Promise<Row[]> {
    const scene = await this.#set()
    const outage = await this.#away(scene)
    const convergedMs = await this.#back([...idsOf(scene.crowd), ...outage.joined.ids])
    return [
      ...(await this.#account.rows()),
      ...outage.work,
      ...(await this.#rowsOf(scene, outage)),
      within('after its return all is as it should be', convergeWithinMs, [convergedMs]),
    ]
  }

  async #set(): Promise<Scene> {
    const [vanishing, crowd, retiring, deaf] = await Promise.all([
      this.#cast.present('vanishing', 3),
      this.#cast.crowd(this.#options.agents),
      this.#cast.played('retiring', 5),
      this.#options.plant && Deaf.start(this.#system, this.#api, this.#random),
    ])
    this.#deaf = deaf
    this.#load.targets.push(...idsOf(crowd))
    this.#contacts.ids.push(...idsOf(crowd))
    this.#load.start(this.#options.rate)
    this.#contacts.start()
    await sleep(1_500)
    return { vanishing, crowd, retiring }
  }

  async #away({ vanishing, crowd, retiring }: Scene): Promise<Outage> {
    const { say } = this.#options
    const lastsMs = this.#options.seconds * 1000
    await this.#system.redis.kill()
    vanishing.program.signal('SIGKILL')
    const died = Date.now()
    this.#deaf?.work()
    say(`Redis is gone, for ${this.#options.seconds} s`)
    this.#progress = setInterval(() => this.#tell(died), Math.max(2_000, lastsMs / 20))
    const soon = sleep(0.1 * lastsMs)
    const [joined, revokedMs, moved] = await Promise.all([
      this.#join(),
      soon.then(() => revoke(this.#api, retiring, this.#random)),
      soon.then(() =>
        moves(this.#system, this.#cast, crowd, this.#pace.heartbeatMs, this.#random, this.#busyMs),
      ),
    ])
    say(`${joined.ids.length} devices came, ${revokedMs.length} were revoked, ${moved.backMs.length} moved`)
    await sleep(Math.max(0, died + lastsMs - Date.now()))
    const work = await this.#meanwhile(died, moved.away)
    return { died, joined, revokedMs, moved, work, oldestContactMs: this.#contacts.worstAgeMs }
  }

  /** What came of the work of the outage, which goes on until nothing is missing, for as long as others may hold the machine up. */
  async #meanwhile(died: number, away: readonly string[]): Promise<Row[]> {
    const [untilMs, busyMs] = [Date.now(), this.#busyMs]
    for (; ; await sleep(500)) {
      const work = await this.#account.meanwhile(died, this.#pace, away, { untilMs, busyMs })
      if (passed(work) || Date.now() >= untilMs + busyMs)
        return [...work, ...((await this.#deaf?.rows(died, this.#pace, untilMs)) ?? [])]
    }
  }

  /** Enrolled, and put to work, without Redis. */
  async #join(): Promise<Outage['joined']> {
    const { agents } = this.#options
    const patienceMs = this.#pace.heartbeatMs + slackMs + this.#busyMs
    const fleet = await this.#cast.fleet('newcomers', Math.max(3, Math.round(agents / 100)), patienceMs)
    const joined = { ids: idsOf([fleet]), onlineMs: fleet.onlineMs }
    if (Number.isFinite(fleet.onlineMs)) {
      this.#load.targets.push(...joined.ids)
      this.#contacts.ids.push(...joined.ids)
    }
    return joined
  }

  /** Brings Redis back, empty; how long until all is as it should be. */
  async #back(ids: readonly string[]): Promise<number> {
    const { say } = this.#options
    await this.#system.startRedis()
    const since = Date.now()
    say('Redis is back, empty')
    await sleep(1_000)
    await this.#load.stop()
    await this.#includeDeaf()
    clearInterval(this.#progress)
    const convergedMs = await this.#account.converged(since, ids, convergeWithinMs)
    say(`all is as it should be after ${seconds(convergedMs)}`)
    // Who was taken for silent when Redis returned counts as offline by now.
    await sleep(Math.min(this.#pace.goneAfterMs, this.#options.seconds * 250))
    await this.#contacts.stop()
    return convergedMs
  }

  /** Of those, too, everything has come right in the end. */
  async #includeDeaf(): Promise<void> {
    if (!this.#deaf) return
    const { load, fleet } = this.#deaf
    await load.stop()
    this.#load.accepted.push(...load.accepted)
    this.#load.asked.push(...load.asked)
    this.#load.refused.push(...load.refused)
    this.#cast.fleets.push(fleet)
  }

  async #rowsOf({ vanishing, retiring }: Scene, outage: Outage): Promise<Row[]> {
    const { heartbeatMs, goneAfterMs, exchangeMs } = this.#pace
    const { moved, died } = outage
    const busyMs = this.#busyMs
    const toldMs = exchangeMs + heartbeatMs + slackMs + busyMs
    const offline = await offlineEvents(this.#system.sql)
    const left = idsOf([vanishing])
    const unheard = idsOf(this.#deaf ? [this.#deaf.fleet] : [])
    const leaving = new Set([...left, ...moved.gone, ...unheard, ...retiring.map(({ deviceId }) => deviceId)])
    const vanishedMs = left.map((id) => (offline.get(id) ?? Number.POSITIVE_INFINITY) - died)
    const wrongly = [...offline.keys()].filter((id) => !leaving.has(id))
    return [
      within('the oldest contact while Redis was gone', 2 * heartbeatMs + slackMs + busyMs, [
        outage.oldestContactMs,
      ]),
      within('a revoked device is cut', revokeWithinMs, outage.revokedMs),
      none('revoked devices that are let in again', await letIn(this.#system, retiring)),
      within('the connection that a device left behind is closed', toldMs, moved.outdatedMs),
      within('an agent whose place was taken is back in it', toldMs + returnMs, moved.backMs),
      within('devices enrolled meanwhile are online', heartbeatMs + busyMs, [outage.joined.onlineMs]),
      within('who vanished counts as offline', goneAfterMs + verdictMs + slackMs + busyMs, vanishedMs),
      none('devices that counted as offline and were not', wrongly),
    ]
  }

  #tell(died: number): void {
    const { accepted, refused } = this.#load
    const sent = `${accepted.length} commands accepted, ${refused.length} refused`
    const oldest = `the oldest contact so far was ${seconds(this.#contacts.worstAgeMs)} old`
    this.#options.say(`without it for ${seconds(Date.now() - died)}: ${sent}; ${oldest}`)
  }
}
