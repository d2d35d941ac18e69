import cluster, { type Worker } from 'node:cluster'
import { keepNotWaiting, openLog } from '@svc/proto/log'
import type { Logger } from 'pino'
import type { GatewayConfig } from '../config.ts'
import { count, type Tally } from '../ops/counters.ts'
import { type MetricsServer, serveMetrics } from '../ops/metrics.ts'
import { type Held, hold } from './holds.ts'
import { SupervisorMetrics } from './metrics.ts'
import { placesOf, settingsOf } from './places.ts'
import { type End, Slot } from './slot.ts'

export interface SupervisorOptions {
  config: GatewayConfig
  /** the program that a worker runs: `main.ts`, or what it was bundled into */
  entry: string
  /** of workers, beside this process's own environment */
  env?: Record<string, string>
  logger?: Logger
}

/** How it came to an end: the exit code, and one line of why, unless a worker has said that already. */
export interface Outcome {
  code: number
  line?: string | undefined
}

/** sysexits.h: EX_CONFIG */
const misconfigured = 78
/** so many workers in a row that end before they accept anybody, while no other does */
const hopelessAfter = 5
/** a worker that has not accepted anybody by then hangs */
const startWithinMs = 60_000
/** a worker that does not answer by then is left out */
const metricsWithinMs = 2_000
/** a full drain window, the peers that lag behind, and the last flush; whoever is still there then hangs */
export const drainWithinMs = 90_000

/** Runs several gateways on one port, each a process and a node of its own, and replaces those that end. */
export class Supervisor {
  readonly #config: GatewayConfig
  readonly #log: Logger
  readonly #slots: Slot[]
  readonly #restarts: Tally = {}
  readonly #metrics: SupervisorMetrics
  readonly #env: Record<string, string>
  /** Resolves when the first worker accepts agents. */
  readonly ready: Promise<void>
  #tellReady: () => void = () => {}
  /** Resolves when it is drained or has given up. */
  readonly ended: Promise<Outcome>
  #tellEnd: (outcome: Outcome) => void = () => {}
  #held: Held | undefined
  #server: MetricsServer | undefined
  #forks = 0
  #unheard = 0
  #everServed = false
  #complete = false
  #draining: Promise<void> | undefined
  /** a worker did not come to a good end while all drained */
  #failed = false

  constructor({ config, entry, env = {}, logger }: SupervisorOptions) {
    this.#config = config
    this.#env = env
    const { logLevel: level, node: instance } = config
    this.#log = logger ?? openLog({ service: 'supervisor', level, instance }).log
    this.#slots = Array.from({ length: config.workers }, (_, index) => this.#slot(index + 1))
    this.#metrics = new SupervisorMetrics({
      wanted: config.workers,
      serving: () => this.#serving,
      restarts: this.#restarts,
    })
    this.ready = new Promise((resolve) => {
      this.#tellReady = resolve
    })
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve
    })
    // Workers accept for themselves: who is not looked after by them is not taken in by us either.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: entry })
  }

  /** Rejects with `PortTaken` before any worker is there. Whatever keeps workers from starting ends it: see {@link ended}. */
  async start(): Promise<void> {
    this.#held = await hold(placesOf(this.#config))
    try {
      const { metrics } = this.#config
      if (metrics) this.#server = await serveMetrics(() => this.#text(), metrics)
    } catch (error) {
      this.#held.release()
      throw error
    }
    this.#log.info({ workers: this.#config.workers, metrics: this.#server?.url }, 'supervising')
    // What keeps one from starting mostly keeps all, and is told once: the others follow the first.
    if (!this.#draining) this.#slots[0]?.start()
  }

  /** All workers drain side by side. */
  drain(): Promise<void> {
    this.#draining ??= this.#drain({ code: 0 })
    return this.#draining
  }

  /** Ends all workers at once. */
  kill(): void {
    for (const slot of this.#slots) slot.kill()
  }

  get #serving(): number {
    return this.#slots.filter(({ isServing }) => isServing).length
  }

  #slot(number: number): Slot {
    return new Slot(number, {
      fork: () => this.#fork(),
      serving: () => this.#served(),
      ended: (end, replace) => this.#lost(number, end, replace),
      startWithinMs,
    })
  }

  #fork(): Worker {
    const own = settingsOf(this.#config, this.#held?.ports ?? [], ++this.#forks)
    const worker = cluster.fork({ ...this.#env, ...own })
    // It shares the standard output of all, and has begun by making its writers wait.
    keepNotWaiting()
    return worker
  }

  #served(): void {
    if (this.#draining) return
    this.#unheard = 0
    if (!this.#everServed) for (const slot of this.#slots.slice(1)) slot.start()
    this.#everServed = true
    this.#tellReady()
    if (this.#complete || this.#serving < this.#slots.length) return
    this.#complete = true
    this.#log.info({ workers: this.#serving }, 'all workers accept agents')
  }

  #lost(worker: number, end: End, replace: () => number): void {
    if (this.#draining) {
      this.#failed ||= end.code !== 0
      return
    }
    if (this.#isHopeless(end)) {
      const line = end.code === undefined ? `no worker can start: ${end.reason}` : undefined
      this.#draining = this.#drain({ code: end.code || 1, line })
      return
    }
    count(this.#restarts, end.reason)
    this.#log.warn({ worker, reason: end.reason, againInMs: replace() }, 'a worker has ended')
  }

  /** What is wrong with one is not yet wrong with all: while others serve, it is tried again. */
  #isHopeless({ served, code }: End): boolean {
    if (served || this.#serving > 0) return false
    this.#unheard++
    return (
      code === misconfigured || (!this.#everServed && code !== undefined) || this.#unheard >= hopelessAfter
    )
  }

  async #drain({ code, line }: Outcome): Promise<void> {
    const impatient = setTimeout(() => this.kill(), drainWithinMs)
    await Promise.all(this.#slots.map((slot) => slot.drain()))
    clearTimeout(impatient)
    await this.#server?.close()
    this.#held?.release()
    this.#log.info('all workers have ended')
    this.#tellEnd({ code: code || Number(this.#failed), line })
  }

  async #text(): Promise<string> {
    const answers = this.#slots.map(
      async (slot) => [slot.number, await slot.metrics(metricsWithinMs)] as const,
    )
    return this.#metrics.text(new Map(await Promise.all(answers)))
  }
}
