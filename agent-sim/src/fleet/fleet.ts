import { setMaxListeners } from 'node:events'
import { type Random, systemClock } from '../clock.ts'
import type { AgentEvent } from '../events.ts'
import { loadIdentities } from '../identity/files.ts'
import type { Identity } from '../identity/identity.ts'
import { lockFolder, type Release } from '../identity/lock.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TransportKind } from '../transport/kinds.ts'
import { churn, type ChurnRate, type Mishap } from './churn.ts'
import { type Execution, ExecutionLog } from './executions.ts'
import { type FleetAgent, type Member, makeMember } from './member.ts'
import { kindFor, type Mix } from './mix.ts'
import { ramp } from './ramp.ts'
import { Readiness } from './readiness.ts'
import { type FleetStats, FleetTally } from './stats.ts'
import type { WatchdogPace } from '../watchdog/watchdog.ts'
import { weather } from './weather.ts'

export interface FleetOptions {
  /** Base URL of the API, without `/api/v1`. */
  api: string
  enrollmentKey: string
  agents: number
  /** How many agents begin per second; 50. */
  rampPerSecond?: number
  /** Identities are kept here: a second start brings the same devices back. */
  stateDir?: string
  /** Ledgers survive the process, and executions are written here. */
  ledgerDir?: string
  /** URLs, whatever is spoken there, instead of those told at enrollment: the gateways have moved since. */
  gateways?: readonly string[]
  /** How devices are spread over transports; all over WebSocket without it. */
  transports?: Mix
  /** Over MQTT, seconds of silence after which an agent pings; absent: the agent's own. */
  mqttKeepaliveSeconds?: number
  /** Devices enroll with keys of their own, without which their tokens open nothing. */
  deviceKeys?: boolean
  /** Moves which device has which transport. */
  seed?: number
  /** What befalls devices once all have been admitted; nothing without it. */
  churn?: Omit<ChurnRate, 'agents'>
  /** Each device has a watchdog, which beats beside its agent; none without it. */
  watchdogs?: WatchdogPace
  /** What agents draw their waits by; `Math.random`. */
  random?: Random
  /** A test's: agents take their own clocks for the server's. */
  ownTime?: boolean
  /** In front of each hostname. */
  prefix?: string
  /**
   * A device of an earlier start that the server no longer wants is enrolled anew, once; and whoever is lost in spite of
   * that, or later, keeps nobody waiting: `ready` resolves without it.
   */
  replace?: boolean
  /** Told of everything that device `number` (from 1) does. */
  observe?: (number: number, event: AgentEvent) => void
  /** Told of each blow of churn. */
  struck?: (number: number, mishap: Mishap) => void
}

export interface Fleet {
  /** Devices of earlier starts that this one does not run, because it is smaller. */
  readonly idle: number
  /** Those enrolled so far, by number. */
  readonly agents: readonly FleetAgent[]
  /** All have been admitted once; rejects when one never will be. */
  ready(): Promise<void>
  stats(): FleetStats
  executions(): Execution[]
  /** Every agent ends its commands and says goodbye. */
  stop(): Promise<void>
  /** Drops all sockets without a goodbye, as when the machines lose power. Resolves when the files are closed. */
  kill(): Promise<void>
}

/** So many enrollments at a time, however steep the ramp. */
const enrollAtOnce = 32

/** Starts simulated devices at the given rate and returns at once; see `ready`. Rejects when its folders cannot be used. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { stateDir } = options
  const release = stateDir === undefined ? async () => {} : await lockFolder(stateDir)
  const known = stateDir === undefined ? new Map<number, Identity>() : await loadIdentities(stateDir)
  return new RunningFleet(options, known, release)
}

class RunningFleet implements Fleet {
  readonly idle: number
  readonly #options: FleetOptions
  readonly #members = new Map<number, Member>()
  /** Identities of earlier starts that are not proven yet. */
  readonly #known: Map<number, Identity>
  readonly #release: Release
  readonly #kinds: TransportKind[]
  readonly #tally: FleetTally
  readonly #executions: ExecutionLog
  readonly #readiness: Readiness
  readonly #ledgers: Ledger[] = []
  readonly #ending = new AbortController()
  readonly #ramp: Promise<void>
  readonly #weather: Promise<void>
  #replacements: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(options: FleetOptions, known: Map<number, Identity>, release: Release) {
    this.#options = options
    // One for each device that is away.
    setMaxListeners(0, this.#ending.signal)
    this.#known = known
    this.#release = release
    const { transports = { websocket: 1 }, seed = 0 } = options
    this.#kinds = Array.from({ length: options.agents }, (_, at) => kindFor(transports, at + 1, seed))
    this.#tally = new FleetTally(this.#kinds)
    this.#executions = new ExecutionLog(options.ledgerDir)
    const { agents: count, rampPerSecond: perSecond = 50, replace } = options
    this.#readiness = new Readiness(count, replace)
    this.idle = [...known.keys()].filter((number) => number > count).length
    const pace = { count, perSecond, atOnce: enrollAtOnce }
    this.#ramp = ramp(pace, (number) => this.#begin(number), systemClock, this.#ending.signal)
    this.#weather = this.#churn()
  }

  get agents(): Member[] {
    return [...this.#members.values()].toSorted((a, b) => a.number - b.number)
  }

  ready(): Promise<void> {
    return this.#readiness.ready
  }

  stats(): FleetStats {
    const members = [...this.#members.values()]
    const connected = members.filter(({ agent }) => agent.isConnected).map(({ via }) => via)
    return this.#tally.stats(connected, members.filter(({ isAway }) => isAway).length)
  }

  executions(): Execution[] {
    return this.#executions.all()
  }

  async stop(): Promise<void> {
    this.#ending.abort(new Error('the fleet stops'))
    await this.#begun()
    for (const { watchdog } of this.#members.values()) watchdog?.kill()
    await Promise.all(this.agents.map(({ agent }) => agent.stop()))
    await this.#close()
  }

  async kill(): Promise<void> {
    this.#ending.abort(new Error('the fleet was killed'))
    for (const { agent } of this.#members.values()) agent.kill()
    await this.#begun()
    for (const { watchdog } of this.#members.values()) watchdog?.kill()
    await this.#close()
  }

  async #begun(): Promise<void> {
    await this.#ramp
    await this.#replacements
    await this.#weather
  }

  #close(): Promise<void> {
    return (this.#closing ??= this.#closeFiles())
  }

  async #closeFiles(): Promise<void> {
    await Promise.all(this.#ledgers.splice(0).map((ledger) => ledger.close()))
    this.#executions.close()
    await this.#release()
  }

  async #begin(number: number): Promise<void> {
    try {
      const member = await this.#make(number)
      this.#tally.enrolled(member.via)
      this.#ledgers.push(member.ledger)
      if (this.#ending.signal.aborted) return
      this.#members.set(number, member)
      await member.agent.start()
      member.watchdog?.start()
    } catch (error) {
      if (this.#ending.signal.aborted) return
      const text = error instanceof Error ? error.message : String(error)
      this.#observe(number, '', { kind: 'stopped', reason: 'CREDENTIAL_INVALID', text })
    }
  }

  #kindOf(number: number): TransportKind {
    return this.#kinds[number - 1] ?? 'websocket'
  }

  /** Begins when all are there: who is still on the way has trouble enough. */
  async #churn(): Promise<void> {
    const { agents, churn: rate, struck } = this.#options
    const { signal } = this.#ending
    if (!rate || agents === 0) return
    const ended = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    await Promise.race([this.#readiness.ready.catch(() => ended), ended])
    await weather({
      blows: churn({ agents, ...rate }),
      find: (number) => this.#members.get(number),
      struck: (number, mishap) => {
        this.#tally.struck(mishap)
        struck?.(number, mishap)
      },
      clock: systemClock,
      signal,
    })
  }

  #make(number: number) {
    const {
      api,
      enrollmentKey,
      prefix = '',
      stateDir,
      ledgerDir,
      gateways,
      mqttKeepaliveSeconds,
      deviceKeys = false,
      watchdogs,
      random = Math.random,
      ownTime = false,
    } = this.#options
    return makeMember({
      number,
      via: this.#kindOf(number),
      api,
      enrollmentKey,
      prefix,
      stateDir,
      ledgerDir,
      gateways,
      keepaliveSeconds: mqttKeepaliveSeconds,
      withKey: deviceKeys,
      watchdogs,
      random,
      ownTime,
      identity: this.#known.get(number),
      signal: this.#ending.signal,
      observe: (deviceId, event) => this.#observe(number, deviceId, event),
    })
  }

  #observe(number: number, deviceId: string, event: AgentEvent): void {
    this.#tally.take(this.#kindOf(number), event)
    if (event.kind === 'started')
      this.#executions.add({ commandId: event.id, deviceId, type: event.type, at: systemClock.now() })
    if (event.kind === 'connected') this.#proven(number)
    if (event.kind === 'stopped') this.#lost(number, deviceId, event.text)
    this.#options.observe?.(number, event)
  }

  #proven(number: number): void {
    this.#known.delete(number)
    this.#readiness.admitted(number)
  }

  #lost(number: number, deviceId: string, why: string): void {
    const unwanted = deviceId !== '' && this.#known.delete(number) && this.#options.replace
    if (!unwanted) return this.#readiness.lost(number, why)
    // One after the other: after a change of the database it may be the whole fleet.
    this.#replacements = this.#replacements.then(() => this.#replace(number))
  }

  async #replace(number: number): Promise<void> {
    if (this.#ending.signal.aborted) return
    this.#members.delete(number)
    await this.#begin(number)
  }
}
