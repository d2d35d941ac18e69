import { BlockList } from 'node:net'
import type { EgressCode } from '../../adapters/egress.ts'
import type { Denied } from './check.ts'
import { ownAddresses } from './inner.ts'

/** Guards that a proof takes away, to see itself fail. Never set by configuration. */
export type Guard =
  /** whether an address is of the inside is not asked */
  | 'ranges'
  /** of several answers the first alone is looked at */
  | 'every_answer'
  /** the name is looked up a second time, for the connection */
  | 'pinned'
  /** names of this server's own parts are as good as others */
  | 'own_names'
  /** a redirect is followed, by the same rules */
  | 'redirects'
  /** failures of inner addresses that are allowed are told as they are, when they happen */
  | 'alike'

/** How one call ended: answered, why not, or given up by its caller. */
export type Outcome = 'answered' | 'aborted' | 'fault' | Lowercase<EgressCode>

export interface Observation {
  outcome: Outcome
  seconds: number
}

export interface EgressOptions {
  /** of the inside, and may be asked all the same (EGRESS_ALLOW) */
  allow: BlockList
  /** must not be asked, though it looks public (EGRESS_DENY) */
  deny: BlockList
  /** plain http is taken, too (EGRESS_HTTP) */
  http: boolean
  /** that may be asked: first and last of each range (EGRESS_PORTS) */
  ports: readonly (readonly [number, number])[]
  /** name servers, `address` or `address:port` (EGRESS_RESOLVERS); none: the machine's */
  resolvers: readonly string[]
  /** names of this server and of what it stands on, in lower case */
  ownNames: readonly string[]
  /** addresses of this machine, as they are now */
  ownAddresses: () => readonly string[]
  /** certificates of authorities in place of the well-known ones, PEM */
  ca?: string | undefined
  /** connections at once: of all keys, and of one */
  atOnce: number
  perKey: number
  /** that wait for a turn: of all keys, and of one */
  waiting: number
  waitingPerKey: number
  /** for one of a host's addresses to take the connection, TLS included */
  connectMs: number
  /** without a byte of a body */
  idleMs: number
  /** until an inner address that is allowed must have begun its answer; each failure before that is told then, and alike */
  innerMs: number
  /** failures in a row after which an endpoint is left alone, for how long at first, and at most */
  failures: number
  pauseMs: number
  longestPauseMs: number
  /** of time that only goes forward, in milliseconds */
  now: () => number
  /** told of each address that was refused: one line in the log, a security event */
  onDenied: (denied: Denied) => void
  /** told how each call ended */
  observe: (observation: Observation) => void
  without: ReadonlySet<Guard>
}

/** https and its usual other ports, and those of http, where that is taken. Never such as mail, shells and databases listen on. */
export const usualPorts = [
  [443, 443],
  [8443, 8443],
  [80, 80],
  [8080, 8080],
] as const

export const defaults: EgressOptions = {
  allow: new BlockList(),
  deny: new BlockList(),
  http: false,
  ports: usualPorts,
  resolvers: [],
  ownNames: [],
  ownAddresses,
  atOnce: 64,
  perKey: 5,
  waiting: 2_000,
  waitingPerKey: 500,
  connectMs: 3_000,
  idleMs: 5_000,
  innerMs: 5_000,
  failures: 5,
  pauseMs: 30_000,
  longestPauseMs: 300_000,
  now: () => performance.now(),
  onDenied: () => undefined,
  observe: () => undefined,
  without: new Set(),
}
