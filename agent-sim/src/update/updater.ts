import type { svc } from '@svc/proto'
import type { Clock, Random } from '../clock.ts'
import type { Offer } from './prove.ts'

export type UpdateStatus = svc.v1.UpdateStatus.$Properties

/** What an agent reports of its parts; `''`: there is none. */
export interface Versions {
  agent: string
  helper: string
  watchdog: string
}

/** What updates a device. The agent tells it of its connection; it tells the agent what to say and when to make way. */
export interface Updater {
  readonly versions: Versions
  /** An update has just ended: the first heartbeat waits for nobody (interface §Versioning 4). */
  readonly isFresh: boolean
  /** Welcome was received. */
  connected(): void
  offered(offer: Offer): void
  /** A heartbeat is about to be sent: what waited is tried. */
  beat(): void
  /** A heartbeat was answered. */
  answered(): void
  /** Breaks off what can be broken off. */
  stop(): void
}

export interface UpdaterPorts {
  os: string
  arch: string
  clock: Clock
  random: Random
  serverNow: () => number
  /** The switch, as the server set it last. */
  autoUpdate: () => boolean
  /** False when it could not be sent now. */
  say: (status: UpdateStatus) => boolean
  log: (text: string) => void
  /** The program's file is another one: end, after a moment for what runs, so that it can be started. */
  makeWay: () => void
  /** Come back at once, as another version. */
  renew: () => void
}

/** Of one agent object; what has to outlive it is behind the function. */
export type MakeUpdater = (ports: UpdaterPorts) => Updater
