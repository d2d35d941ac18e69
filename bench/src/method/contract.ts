/** What a bench is made of and what it leaves behind; every bench, the printer, the result files and the report know these types. */

export const units = ['CPU-µs', 'bytes', 'ms', 'per second', 'seconds', '%', 'count'] as const
export type Unit = (typeof units)[number]

/** What was seen of one side in one round. */
export interface Round {
  /** `ours`, or the name of a peer; variants after a colon: `ours:tls`, `mosquitto:websocket` */
  side: string
  /** from 1; rounds of different sides with the same number ran one after the other */
  round: number
  /** RFC 3339, UTC */
  at: string
  /** by the name of the measure, in the unit that the bench declares for it */
  seen: Record<string, number>
  /** load average over one minute before the round */
  loadBefore: number
  /** how busy the load client's core was, 0 to 1 */
  clientBusy: number
  /** why the round proves nothing; empty: quiet */
  noisy: string[]
}

export interface Peer {
  name: string
  /** as the peer says it itself; undefined where it was skipped */
  version?: string
  /** all that makes it comparable: threads, QoS, keepalive, TLS, what was switched off */
  configuration: string
  /** why it did not run: it is missing, or does not work here */
  skipped?: string
}

/** A measure as a bench declares it, before anything has run. */
export interface Measure {
  name: string
  unit: Unit
  /** how many digits a person wants to see */
  digits: number
}

/** Which figure of the targets is made of which measure, and what is asked of it. */
export interface Figure {
  /** as in the targets: `G2`, `A1` */
  id: string
  title: string
  measure: string
  side: string
  /** the side it is divided by: the same measure, round by round */
  peer?: string
  target: { atMost?: number; atLeast?: number; ratioAtMost?: number; ratioAtLeast?: number }
  /** what the profile shows the figure to be bound by */
  limitedBy: string
  /** what would take it further, where that is known. Whether it is reached only a run can say. */
  wouldReach?: string
}

export interface BenchDeclaration {
  /** `edge`, as on the command line */
  name: string
  title: string
  measures: readonly Measure[]
  figures: readonly Figure[]
}

/** What a bench is given to run with. */
export interface Ground {
  quick: boolean
  /** at least five, two where quick */
  rounds: number
  /** connections, rows or requests: the bench's own scale; the full one or the quick one */
  scale: number
  /** one line for people, on standard error, replaced by the next */
  progress(line: string): void
  /** keeps a round; the method fills in load, client and noise */
  saw(side: string, round: number, seen: Record<string, number>, clientBusy: number): void
  peer(peer: Peer): void
  /** removed afterwards, whatever happens */
  folder: string
  /** ended afterwards, last one first, whatever happens */
  afterwards(undo: () => void | Promise<void>): void
}

export interface Bench extends BenchDeclaration {
  run(ground: Ground): Promise<void>
}

/** `bench/results/<bench>-<date>.json`: all that was seen. */
export interface ResultFile {
  format: 1
  bench: string
  startedAt: string
  seconds: number
  /** the commit that was measured; `+` at its end: with changes */
  commit: string
  machine: { processor: string; cores: number; memoryBytes: number; kernel: string; node: string }
  quick: boolean
  noisy: string[]
  peers: Peer[]
  measures: readonly Measure[]
  figures: readonly Figure[]
  rounds: Round[]
}
