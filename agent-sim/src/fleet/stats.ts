import type { AgentEvent } from '../events.ts'
import type { TransportKind } from '../transport/kinds.ts'
import type { Mishap } from './churn.ts'
import { Histogram, type Percentiles } from './histogram.ts'

/** What agents have done since they started. Times in milliseconds. */
export interface Stats {
  agents: number
  enrolled: number
  /** now */
  connected: number
  /** admissions, over all connections */
  connects: number
  disconnects: number
  /** disconnects by reason */
  reasons: Record<string, number>
  refused: number
  /** ended for good: credential dead, decommissioned, or never enrolled */
  stopped: number
  heartbeats: number
  heartbeatAcks: number
  inventories: number
  commands: number
  duplicates: number
  /** finished commands by outcome */
  outcomes: Record<string, number>
  resultAcks: number
  /** frames that were not signed for their device */
  disowned: number
  trouble: number
  /** from the attempt to connect to `Welcome` */
  connectMs: Percentiles
  heartbeatMs: Percentiles
  commandMs: Percentiles
}

/** What a fleet has done, as a whole and by transport, and what befell it. */
export interface FleetStats extends Stats {
  transports: Partial<Record<TransportKind, Stats>>
  churn: Record<Mishap, number> & {
    /** now: devices that are gone, or whose network is */
    away: number
  }
}

const count = (table: Record<string, number>, key: string) => {
  table[key] = (table[key] ?? 0) + 1
}

/** Counts what agents say about themselves. */
export class Tally {
  readonly #connect = new Histogram()
  readonly #heartbeat = new Histogram()
  readonly #command = new Histogram()
  readonly counts: Omit<Stats, 'connectMs' | 'heartbeatMs' | 'commandMs'>

  constructor(agents: number) {
    this.counts = {
      agents,
      enrolled: 0,
      connected: 0,
      connects: 0,
      disconnects: 0,
      reasons: {},
      refused: 0,
      stopped: 0,
      heartbeats: 0,
      heartbeatAcks: 0,
      inventories: 0,
      commands: 0,
      duplicates: 0,
      outcomes: {},
      resultAcks: 0,
      disowned: 0,
      trouble: 0,
    }
  }

  take(event: AgentEvent): void {
    const { counts } = this
    if (event.kind === 'connected') {
      counts.connects += 1
      this.#connect.add(event.tookMs)
    } else if (event.kind === 'disconnected') {
      counts.disconnects += 1
      count(counts.reasons, event.reason)
    } else if (event.kind === 'refused') counts.refused += 1
    else if (event.kind === 'stopped') counts.stopped += 1
    else if (event.kind === 'trouble') counts.trouble += 1
    else this.#takeWork(event)
  }

  #takeWork(event: AgentEvent): void {
    const { counts } = this
    if (event.kind === 'beat') counts.heartbeats += 1
    else if (event.kind === 'beat-acked') {
      counts.heartbeatAcks += 1
      this.#heartbeat.add(event.tookMs)
    } else if (event.kind === 'inventory') counts.inventories += 1
    else if (event.kind === 'command') counts[event.duplicate ? 'duplicates' : 'commands'] += 1
    else if (event.kind === 'result-acked') counts.resultAcks += 1
    else if (event.kind === 'disowned') counts.disowned += 1
    else if (event.kind === 'finished') {
      count(counts.outcomes, event.outcome)
      this.#command.add(event.tookMs)
    }
  }

  stats(connected: number): Stats {
    return {
      ...this.counts,
      reasons: { ...this.counts.reasons },
      outcomes: { ...this.counts.outcomes },
      connected,
      connectMs: this.#connect.percentiles(),
      heartbeatMs: this.#heartbeat.percentiles(),
      commandMs: this.#command.percentiles(),
    }
  }
}

/** A tally of all and one of each transport. */
export class FleetTally {
  readonly #all: Tally
  readonly #byKind: ReadonlyMap<TransportKind, Tally>
  readonly #churn: Record<Mishap, number> = { leave: 0, crash: 0, network: 0 }

  /** @param kinds of each agent */
  constructor(kinds: readonly TransportKind[]) {
    this.#all = new Tally(kinds.length)
    const tallies = [...new Set(kinds)].map((kind) => {
      const agents = kinds.filter((one) => one === kind).length
      return [kind, new Tally(agents)] as const
    })
    this.#byKind = new Map(tallies)
  }

  enrolled(kind: TransportKind): void {
    this.#all.counts.enrolled += 1
    const tally = this.#byKind.get(kind)
    if (tally) tally.counts.enrolled += 1
  }

  take(kind: TransportKind, event: AgentEvent): void {
    this.#all.take(event)
    this.#byKind.get(kind)?.take(event)
  }

  struck(mishap: Mishap): void {
    this.#churn[mishap] += 1
  }

  /**
   * @param connected the transports of those that are connected now, once for each
   * @param away how many are gone for now
   */
  stats(connected: readonly TransportKind[], away: number): FleetStats {
    const transports = [...this.#byKind].map(([kind, tally]) => {
      const here = connected.filter((one) => one === kind).length
      return [kind, tally.stats(here)] as const
    })
    return {
      ...this.#all.stats(connected.length),
      transports: Object.fromEntries(transports),
      churn: { ...this.#churn, away },
    }
  }
}
