import { setTimeout as pause } from 'node:timers/promises'
import { busUp } from './bus-up.ts'
import type { Counters } from './ops/counters.ts'
import type { DescriptorGuard } from './ops/descriptors.ts'
import { Meters, type Metrics } from './ops/metrics.ts'
import { route } from './router/router.ts'
import { greet } from './session/admit.ts'
import { moveWindowMs } from './session/move-window.ts'
import { type Allowance, allowanceOf, type Host, type Session } from './session/session.ts'
import type { Effect } from './session/states.ts'
import { socketsOf } from './sockets.ts'
import { expiryOf } from './transport/certificate.ts'
import type { Listening, Taken, Transport, Via } from './transport/link.ts'
import { doorwayOf } from './wiring/doorway.ts'
import { type Ground, groundOf } from './wiring/ground.ts'
import type { GatewayOptions } from './wiring/options.ts'
import { type Parts, partsOf } from './wiring/parts.ts'
import type { Stage } from './wiring/stage.ts'

export type { GatewayOptions } from './wiring/options.ts'

export interface GatewayStats {
  node: string
  newcomers: number
  residents: number
  via: () => Record<Via, number>
  backlog: () => { sessions: number; bytes: number }
  uplink: { items: number; bytes: number; lagMs: number }
  busUp: boolean
  exchangeUp: boolean
  exchangeAgeMs: number
  descriptors: DescriptorGuard['state']
  /** of the chain that agents are shown; undefined without TLS */
  certificateExpires: Date | undefined
  counters: Counters
}

/** One gateway node. Made by {@link buildGateway}; the owner of every layer. What they are, and who needs whom, is in `wiring/`. */
export class Gateway implements Host {
  readonly node: string
  readonly allowance: Allowance
  readonly #ground: Ground
  readonly #stage: Stage
  readonly #parts: Parts
  readonly #counters: Counters
  readonly #meters: Meters
  readonly #sharesPorts: boolean
  #certificateExpires: Date | undefined
  #draining: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(options: GatewayOptions) {
    const ground = groundOf(options)
    this.node = ground.node
    this.allowance = allowanceOf(ground.limits)
    this.#ground = ground
    this.#stage = { accepting: false, transport: options.transport, moveWithinMs: 0 }
    this.#parts = partsOf(ground, this.#stage, options.claims)
    this.#counters = ground.counters
    this.#meters = new Meters(ground.counters, () => this.stats())
    this.#sharesPorts = options.sharesPorts ?? false
  }

  /** Starts the layers and accepts agents. Rejects with `PortTaken`. */
  async listen(): Promise<Listening> {
    try {
      return await this.#listen()
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Goes away politely: no newcomers, everybody is asked to move, then what is left is closed. Ends closed. */
  drain(): Promise<void> {
    this.#draining ??= this.#drain()
    return this.#draining
  }

  /** Goes away now, handing on what it holds. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  stats(): GatewayStats {
    const { bus, counters, registry } = this.#ground
    const { descriptors, exchange, uplink } = this.#parts
    return {
      node: this.node,
      newcomers: registry.newcomers.size,
      residents: registry.residents.size,
      via: () => registry.via(),
      backlog: () => registry.backlog(),
      uplink: uplink.stats(),
      busUp: bus.up,
      exchangeUp: exchange.up,
      exchangeAgeMs: exchange.ageMs,
      descriptors: descriptors.state,
      certificateExpires: this.#certificateExpires,
      counters,
    }
  }

  /** What `/metrics` shows, as data. */
  metrics(): Promise<Metrics> {
    return this.#meters.read()
  }

  get #ending(): boolean {
    return this.#draining !== undefined || this.#closing !== undefined
  }

  get tick(): number {
    return this.#parts.keepalive.now
  }

  hello(session: Session, frame: Uint8Array): void {
    this.#heard(frame)
    greet(session, frame, this.#parts.admission)
  }

  route(session: Session, frame: Uint8Array, taken: Taken | undefined): void {
    this.#heard(frame)
    route(session, frame, this.#parts.desk, taken)
  }

  perform(session: Session, effect: Effect): void {
    const run = this.#parts.effects[effect.kind] as (session: Session, effect: Effect) => void
    run(session, effect)
  }

  #heard(frame: Uint8Array): void {
    this.#counters.framesUp++
    this.#counters.bytesUp += frame.length
  }

  async #listen(): Promise<Listening> {
    const { config, bus, log } = this.#ground
    const { downlink, exchange, recovery, descriptors } = this.#parts
    const metrics = config.metrics && (await this.#meters.serve(config.metrics))
    const transport = (this.#stage.transport ??= await this.#sockets())
    if (this.#ending) transport.stop()
    // What was loaded counts: a file that is renewed is not shown to agents before the next start.
    this.#certificateExpires = config.tls && expiryOf(config.tls)
    await busUp(bus)
    if (!bus.up) log.warn('bus is away')
    await downlink.start()
    exchange.start()
    // What is dead should be known before anybody is let in; without an answer the claims decide.
    await exchange.poll()
    await recovery?.check()
    // Told to end meanwhile: then nobody comes in any more.
    this.#stage.accepting = !this.#ending
    const { url, mqtt = [] } = await transport.listen(doorwayOf(this.#ground, this.#stage, this.#parts, this))
    if (this.#ending) {
      transport.close()
      return { url, mqtt }
    }
    descriptors.start()
    const { engine } = transport
    log.info({ url, mqtt, engine, metrics }, 'accepting agents')
    return { url, mqtt }
  }

  async #drain(): Promise<void> {
    this.#stopAccepting()
    const { limits, log, registry } = this.#ground
    const withinMs = moveWindowMs(registry.residents.size, limits)
    this.#stage.moveWithinMs = withinMs
    log.info({ connections: registry.size, withinMs }, 'draining')
    for (const session of this.#everybody()) session.apply({ kind: 'drain' })
    const until = performance.now() + withinMs + limits.moveGraceMs
    while (registry.size > 0 && performance.now() < until && !this.#closing) await pause(50)
    await this.close()
  }

  async #close(): Promise<void> {
    this.#stopAccepting()
    for (const session of this.#everybody()) session.close('DRAINING')
    const { limits, log } = this.#ground
    const { uplink, releases, downlink, life, exchange, recovery, busWatch, keepalive, ownClaims } =
      this.#parts
    const flushed = await uplink.flush(limits.flushWithinMs)
    if (!flushed) log.warn(uplink.stats(), 'the bus is away: what was held for it is lost with this node')
    await Promise.race([releases.settled(), pause(limits.flushWithinMs)])
    this.#stage.transport?.close()
    downlink.close()
    life.close()
    exchange.close()
    recovery?.stop()
    busWatch.stop()
    keepalive.stop()
    uplink.close()
    await Promise.all([this.#meters.close(), ownClaims?.close()])
    log.info('closed')
  }

  #stopAccepting(): void {
    this.#stage.accepting = false
    this.#parts.descriptors.stop()
    this.#stage.transport?.stop()
  }

  /** Connections that are open now; who leaves meanwhile changes nothing. */
  #everybody(): Session[] {
    const { newcomers, residents } = this.#ground.registry
    return [...newcomers, ...residents.values()]
  }

  #sockets(): Promise<Transport> {
    const { config, limits, log, without } = this.#ground
    const withoutEngine = (reason: string) =>
      log.warn({ reason }, 'uWebSockets.js does not run here: agents are served with ws')
    return socketsOf(config, limits, this.#sharesPorts, withoutEngine, without)
  }
}

/**
 * A gateway that is not listening yet. The bus is the host's; with the in-process one, control plane and gateway are given the same
 * object.
 */
export const buildGateway = (options: GatewayOptions): Gateway => new Gateway(options)
