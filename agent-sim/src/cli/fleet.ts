import { pause, systemClock } from '../clock.ts'
import type { AgentEvent } from '../events.ts'
import { type Fleet, startFleet } from '../fleet/fleet.ts'
import type { Mix } from '../fleet/mix.ts'
import { progressLine } from './progress.ts'
import { Recent } from './recent.ts'
import { summary } from './report.ts'
import { untilSignal } from './signals.ts'

export interface FleetArguments {
  api: string
  key: string
  agents: number
  ramp: number
  transport: Mix
  /** seconds */
  mqttKeepalive?: number | undefined
  seed: number
  /** mishaps per minute and 100 agents */
  churn?: number | undefined
  churnSeed: number
  seconds?: number | undefined
  stateDir?: string | undefined
  ledgerDir?: string | undefined
  prefix: string
  json?: true | undefined
  /**
   * guards that a test of this program takes away: `chance`, without which all agents draw the same waits; `server_time`, without which
   * they go by their own clocks
   */
  without: ReadonlySet<string>
}

const progressEveryMs = 1_000
/** Seconds that the trend and the recent latencies are over. */
const recently = 8
const plainEvery = 10

/** Runs a fleet until its time is up or it is told to end. Answers the exit code: 1 when a device was lost for good, or none was ever there. */
export async function runFleet({
  stateDir,
  ledgerDir,
  churn,
  mqttKeepalive,
  without,
  ...given
}: FleetArguments): Promise<number> {
  const told = untilSignal()
  const progress = new FleetProgress()
  let complaint = ''
  const fleet = await startFleet({
    api: given.api,
    enrollmentKey: given.key,
    agents: given.agents,
    rampPerSecond: given.ramp,
    transports: given.transport,
    seed: given.seed,
    prefix: given.prefix,
    ...(stateDir === undefined ? {} : { stateDir }),
    ...(ledgerDir === undefined ? {} : { ledgerDir }),
    ...(mqttKeepalive === undefined ? {} : { mqttKeepaliveSeconds: mqttKeepalive }),
    ownTime: without.has('server_time'),
    ...(without.has('chance') ? { random: () => 0.5 } : {}),
    ...(churn === undefined ? {} : { churn: { perMinute: churn, seed: given.churnSeed } }),
    observe: (number, event) => {
      progress.take(event)
      if (event.kind === 'stopped' && !complaint)
        complaint = `device ${number}: ${event.text || event.reason}`
    },
  })
  if (!given.json) progress.show(fleet)
  const over = given.seconds === undefined ? [] : [pause(systemClock, given.seconds * 1000)]
  await Promise.race([told, ...over])
  progress.end()
  const stats = fleet.stats()
  await fleet.stop()
  process.stdout.write(given.json ? `${JSON.stringify(stats)}\n` : summary(stats))
  if (complaint) process.stderr.write(`${complaint}\n`)
  if (!complaint && stats.connects === 0) process.stderr.write(`nobody got through to ${given.api}\n`)
  return stats.stopped > 0 || stats.connects === 0 ? 1 : 0
}

/** One line that is written over on a terminal, and otherwise a line now and then. */
class FleetProgress {
  readonly #heartbeat = new Recent(recently)
  readonly #beats: number[] = []
  #beatsBefore = 0
  #lines = 0
  #timer: NodeJS.Timeout | undefined

  take(event: AgentEvent): void {
    if (event.kind === 'beat-acked') this.#heartbeat.add(event.tookMs)
  }

  show(fleet: Fleet): void {
    this.#timer = setInterval(() => this.#tick(fleet), progressEveryMs)
  }

  end(): void {
    clearInterval(this.#timer)
    if (this.#timer && process.stdout.isTTY) process.stdout.write('\n')
  }

  #tick(fleet: Fleet): void {
    const { stdout } = process
    const stats = fleet.stats()
    this.#beats.push(stats.heartbeats - this.#beatsBefore)
    this.#beatsBefore = stats.heartbeats
    if (this.#beats.length > recently) this.#beats.shift()
    const moment = { stats, beats: this.#beats, heartbeatMs: this.#heartbeat.percentiles() }
    if (stdout.isTTY) stdout.write(`\r\x1b[2K${progressLine(moment, stdout.columns)}`)
    else if (this.#lines % plainEvery === 0) stdout.write(`${progressLine(moment)}\n`)
    this.#lines += 1
    this.#heartbeat.turn()
  }
}
