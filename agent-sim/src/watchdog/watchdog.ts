import { type KeyProof, protocol, svc } from '@svc/proto'
import type { Clock, Random, Timer } from '../clock.ts'
import { Link } from '../connection/link.ts'
import type { Transport } from '../transport/transport.ts'

/** How a watchdog goes about it, in milliseconds. */
export interface WatchdogPace {
  everyMs: number
  /** it speaks for itself once its agent has had no connection for this long */
  failoverAfterMs: number
}

export interface WatchdogOptions extends WatchdogPace {
  version: string
  /** of its own; one whose greeting says who connects, as that of a WebSocket does */
  transport: Transport
  /** of the device's key, anew for each connection; undefined: it has none */
  proof: () => KeyProof | undefined
  clock: Clock
  random: Random
  /** Has the agent say it; false: the agent has no connection. */
  passOn: (heartbeat: svc.v1.Heartbeat.$Properties) => boolean
}

/**
 * Watches over an agent, and says that it is there: on the agent's connection, or, while that has none, on one of its own. A device has
 * one connection, so the watchdog gives way as soon as its agent is back.
 */
export class Watchdog {
  readonly #options: WatchdogOptions
  #timer: Timer | undefined
  #link: Link | undefined
  #aloneSince: number | undefined

  constructor(options: WatchdogOptions) {
    this.#options = options
  }

  /** It holds a connection in its agent's place. */
  get isActing(): boolean {
    return this.#link?.isLive ?? false
  }

  /** Begins, or goes on after {@link kill}. */
  start(): void {
    this.kill()
    this.#watch()
  }

  /** As if its process was killed: nothing more is said. */
  kill(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#stepBack()
  }

  #watch(): void {
    const { clock, everyMs } = this.#options
    this.#timer = clock.after(everyMs, () => {
      this.#watch()
      this.#beat()
    })
  }

  #beat(): void {
    const { clock, passOn, failoverAfterMs, version } = this.#options
    const heartbeat = { role: svc.v1.AgentRole.WATCHDOG, watchdogVersion: version }
    if (passOn(heartbeat)) return this.#stepBack()
    this.#aloneSince ??= clock.now()
    if (this.#link) this.#link.send({ heartbeat })
    else if (clock.now() - this.#aloneSince >= failoverAfterMs) this.#connect()
  }

  #connect(): void {
    const { transport, proof, clock, random, version } = this.#options
    const hello = {
      protocolMin: protocol.min,
      protocolMax: protocol.max,
      watchdogVersion: version,
      role: svc.v1.AgentRole.WATCHDOG,
    }
    const link = new Link({
      transport,
      clock,
      random,
      hello: () => ({ ...hello, proof: proof() ?? null }),
      live: () => {},
      // Commands are the agent's; they are offered to it again.
      received: () => {},
      down: () => {},
      stopped: () => {},
      observe: (event) => {
        const isSuperseded = event.kind === 'disconnected' && event.reason === 'SUPERSEDED'
        // After the link has done what it does about any end: come back.
        if (isSuperseded) queueMicrotask(() => this.#link === link && this.#stepBack())
      },
    })
    this.#link = link
    link.start()
  }

  #stepBack(): void {
    this.#link?.kill()
    this.#link = undefined
    this.#aloneSince = undefined
  }
}
