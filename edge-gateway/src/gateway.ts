import { setTimeout as pause } from 'node:timers/promises'
import { svc } from '@svc/proto'
import { type Bus, names, type Unsubscribe } from '@svc/proto/bus'
import { type Logger, pino } from 'pino'
import { busUp } from './bus-up.ts'
import { chooseClaims } from './claims/choose.ts'
import type { Claims } from './claims/claims.ts'
import { FallbackClaims } from './claims/fallback.ts'
import { MemoryClaims } from './claims/memory.ts'
import { Recovery } from './claims/recovery.ts'
import type { GatewayConfig } from './config.ts'
import { Downlink } from './downlink.ts'
import { Exchange } from './exchange.ts'
import { count, Counters } from './ops/counters.ts'
import { DescriptorGuard } from './ops/descriptors.ts'
import { healthOf } from './ops/health.ts'
import { type Limits, limits as defaults } from './ops/limits.ts'
import { Meters, type Metrics } from './ops/metrics.ts'
import { ServerClock } from './ops/server-clock.ts'
import { Revocations } from './revocations.ts'
import { Life } from './life.ts'
import { type Desk, route } from './router/router.ts'
import { type AdmitDeps, greet } from './session/admit.ts'
import { effectsOf } from './session/effects.ts'
import { Keepalive } from './session/keepalive.ts'
import { Outbound } from './session/outbound.ts'
import { AdmissionRate } from './session/rate.ts'
import { Registry } from './session/registry.ts'
import { Releases } from './session/releases.ts'
import { type Allowance, allowanceOf, type Host, Session } from './session/session.ts'
import type { Effect } from './session/states.ts'
import { socketsOf } from './sockets.ts'
import type { Doorway, Listening, Taken, Transport, Via } from './transport/link.ts'
import { takingAtOnce } from './transport/taking-at-once.ts'
import { streams, streamsOrExchange } from './uplink/carrier.ts'
import { Uplink } from './uplink/uplink.ts'

export interface GatewayOptions {
  config: GatewayConfig
  /** the host's: it is not closed here */
  bus: Bus
  /** instead of those that the configuration asks for; the host's too */
  claims?: Claims
  logger?: Logger
  limits?: Partial<Limits>
  transport?: Transport
  /** other gateways on this machine, workers of the same supervisor, listen on the same ports */
  sharesPorts?: boolean
  /**
   * guards that a proof takes away, to see itself fail: `exchange_up`, without which nothing goes up while the bus is away;
   * `descriptor_guard`, without which it listens until descriptors have run out; `taken_when_accepted`, without which what is said
   * counts as handed on before it is; `all_forwarded_lines`, without which a client that sends `X-Forwarded-For` itself says who it is
   */
  without?: ReadonlySet<string>
}

export interface GatewayStats {
  node: string
  newcomers: number
  residents: number
  via: () => Record<Via, number>
  uplink: { items: number; bytes: number; lagMs: number }
  busUp: boolean
  exchangeUp: boolean
  descriptors: DescriptorGuard['state']
  counters: Counters
}

/** One gateway node. Made by {@link buildGateway}; the owner of every layer, and the only one who knows what implements them. */
export class Gateway implements Host {
  readonly node: string
  readonly #config: GatewayConfig
  readonly #bus: Bus
  readonly #claims: Claims
  readonly #ownClaims: Claims | undefined
  readonly #recovery: Recovery | undefined
  readonly #revocations: Revocations
  readonly #log: Logger
  readonly #limits: Limits
  readonly allowance: Allowance
  readonly #counters = new Counters()
  readonly #clock = new ServerClock()
  readonly #registry = new Registry()
  /** undefined until listening */
  #transport: Transport | undefined
  readonly #keepalive: Keepalive
  readonly #outbound: Outbound
  readonly #uplink: Uplink
  readonly #releases: Releases
  readonly #exchange: Exchange
  readonly #life: Life
  readonly #downlink: Downlink
  readonly #admission: AdmitDeps
  readonly #effects: ReturnType<typeof effectsOf>
  readonly #desk: Desk
  readonly #unwatch: Unsubscribe
  readonly #sharesPorts: boolean
  readonly #without: ReadonlySet<string>
  readonly #descriptors: DescriptorGuard
  readonly #meters = new Meters(this.#counters, () => this.stats())
  #accepting = false
  /** the bus went away or came back, since agents are accepted */
  #busChangedAt = Number.NEGATIVE_INFINITY
  #moveWithinMs = 0
  #draining: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor({ config, bus, claims, logger, limits, transport, ...options }: GatewayOptions) {
    const { sharesPorts = false, without = new Set() } = options
    const failed = (error: unknown) => this.#failed(error)
    const nowMs = () => this.#clock.now()
    this.node = config.node
    this.#config = config
    this.#bus = bus
    this.#log = (logger ?? pino({ level: config.logLevel })).child({ node: config.node })
    this.#limits = { ...defaults, ...(config.idleSeconds && { idleSeconds: config.idleSeconds }), ...limits }
    this.allowance = allowanceOf(this.#limits)
    const shared = {
      bus,
      node: config.node,
      limits: this.#limits,
      counters: this.#counters,
      registry: this.#registry,
      failed,
    }
    this.#transport = transport
    this.#sharesPorts = sharesPorts
    this.#without = without
    this.#descriptors = new DescriptorGuard({
      ...shared,
      log: this.#log,
      connections: () => this.#registry.size,
      pause: () => this.#transport?.pause(),
      resume: async () => this.#transport?.resume(),
      ...(without.has('descriptor_guard') ? { read: () => undefined } : {}),
    })
    this.#ownClaims = claims ? undefined : chooseClaims(config.redisUrl, this.#counters)
    this.#claims = claims ?? this.#ownClaims ?? new MemoryClaims()
    this.#revocations = new Revocations(this.#claims, this.#registry, this.#counters)
    this.#keepalive = new Keepalive(this.#limits)
    this.#outbound = new Outbound(this.#limits, this.#counters)
    this.#life = new Life({
      residents: this.#registry.residents,
      ask: (deviceId) => this.#exchange.ask(deviceId),
      changed: (life, connections) =>
        this.#log.warn(
          { life, connections },
          'another life of the database: all connections are asked about anew',
        ),
      failed: (error) =>
        this.#log.warn({ err: error }, 'a restored database could not be asked about connections'),
    })
    this.#exchange = this.#makeExchange()
    const carrier = without.has('exchange_up') ? streams(bus) : streamsOrExchange(bus, this.#exchange)
    this.#uplink = new Uplink({ ...shared, carrier, nowMs })
    this.#releases = new Releases(this.#claims, this.#limits.claimChunk, failed)
    this.#downlink = new Downlink({
      ...shared,
      outbound: this.#outbound,
      // What is published does not say in which life.
      revoke: (revocations) =>
        this.#revocations.carryOut(
          revocations.map((one) => ({ ...one, life: one.life || this.#life.number })),
        ),
      raise: (deviceId, epoch) => void this.#claims.hold([{ deviceId, epoch, node: '' }]).catch(failed),
    })
    this.#admission = {
      ...shared,
      claims: this.#claims,
      rate: new AdmissionRate(this.#limits),
      // The clock gives milliseconds; by chance below that, two nodes that cannot hear of each other do not admit one device at the
      // same epoch, of which neither would ever be refused.
      nowUs: () => nowMs() * 1000 + Math.floor(Math.random() * 1000),
      life: () => this.#life.number,
      ask: (deviceId) => this.#exchange.ask(deviceId),
      evict: ({ node }, deviceId, belowEpoch) => this.#evict(node, deviceId, belowEpoch),
    }
    this.#effects = effectsOf({
      ...shared,
      keepalive: this.#keepalive,
      outbound: this.#outbound,
      releases: this.#releases,
      admission: this.#admission,
      moveWithinMs: () => this.#moveWithinMs,
      nowMs,
      announce: ({ deviceId }, epoch, session) =>
        void this.#uplink.push(deviceId, epoch, { session }, eventBytes),
    })
    this.#desk = { uplink: this.#uplink, outbound: this.#outbound, nowMs }
    this.#recovery = this.#makeRecovery()
    let wasUp = bus.up
    this.#unwatch = bus.onState((up) => {
      // A bus that has not been up yet is not away, it is on its way.
      if (up || wasUp) this.#log[up ? 'info' : 'warn'](up ? 'bus is up' : 'bus is away')
      wasUp ||= up
      if (this.#accepting) this.#busChangedAt = performance.now()
      // What this node is owed comes with the answer from now on.
      if (!up && this.#accepting) void this.#exchange.poll()
    })
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
    return {
      node: this.node,
      newcomers: this.#registry.newcomers.size,
      residents: this.#registry.residents.size,
      via: () => this.#registry.via(),
      uplink: this.#uplink.stats(),
      busUp: this.#bus.up,
      exchangeUp: this.#exchange.up,
      descriptors: this.#descriptors.state,
      counters: this.#counters,
    }
  }

  /** What `/metrics` shows, as data. */
  metrics(): Promise<Metrics> {
    return this.#meters.read()
  }

  get tick(): number {
    return this.#keepalive.now
  }

  hello(session: Session, frame: Uint8Array): void {
    this.#counters.framesUp++
    greet(session, frame, this.#admission)
  }

  route(session: Session, frame: Uint8Array, taken: Taken | undefined): void {
    this.#counters.framesUp++
    route(session, frame, this.#desk, taken)
  }

  perform(session: Session, effect: Effect): void {
    const run = this.#effects[effect.kind] as (session: Session, effect: Effect) => void
    run(session, effect)
  }

  async #listen(): Promise<Listening> {
    const metrics = this.#config.metrics && (await this.#meters.serve(this.#config.metrics))
    const transport = (this.#transport ??= await this.#sockets())
    await busUp(this.#bus)
    if (!this.#bus.up) this.#log.warn('bus is away')
    await this.#downlink.start()
    this.#exchange.start()
    // What is dead should be known before anybody is let in; without an answer the claims decide.
    await this.#exchange.poll()
    await this.#recovery?.check()
    this.#accepting = true
    const { url, mqtt = [] } = await transport.listen(this.#doorway())
    this.#descriptors.start()
    const { engine } = transport
    this.#log.info({ url, mqtt, engine, metrics }, 'accepting agents')
    return { url, mqtt }
  }

  #doorway(): Doorway {
    return {
      open: () => (this.#accepting && this.#registry.newcomers.size < this.#limits.maxNewcomers ? true : 503),
      accept: (link, greeting) => {
        const session = new Session(link, greeting, this)
        this.#counters.opened++
        this.#registry.enter(session)
        this.#descriptors.came()
        this.#keepalive.watch(session, this.#limits.helloWithinMs)
        return this.#without.has('taken_when_accepted') ? takingAtOnce(session) : session
      },
      rejected: (status) => count(this.#counters.rejected, String(status)),
      strayed: (reason) => {
        this.#counters.opened++
        count(this.#counters.closed, reason)
      },
      failed: (error) => this.#failed(error),
      health: (path) =>
        healthOf(path, {
          accepting: this.#accepting,
          busUp: this.#bus.up,
          exchangeUp: this.#exchange.up,
          connections: this.#registry.size,
          limits: this.#limits,
        }),
    }
  }

  async #drain(): Promise<void> {
    this.#stopAccepting()
    const { minMoveWindowMs, maxMoveWindowMs, movesPerSecond, moveGraceMs } = this.#limits
    const fair = (this.#registry.residents.size / movesPerSecond) * 1000
    this.#moveWithinMs = Math.round(Math.min(maxMoveWindowMs, Math.max(minMoveWindowMs, fair)))
    this.#log.info({ connections: this.#registry.size, withinMs: this.#moveWithinMs }, 'draining')
    for (const session of [...this.#registry.newcomers, ...this.#registry.residents.values()])
      session.apply({ kind: 'drain' })
    const until = performance.now() + this.#moveWithinMs + moveGraceMs
    while (this.#registry.size > 0 && performance.now() < until && !this.#closing) await pause(50)
    await this.close()
  }

  async #close(): Promise<void> {
    this.#stopAccepting()
    for (const session of [...this.#registry.newcomers, ...this.#registry.residents.values()])
      session.close('DRAINING')
    const { flushWithinMs } = this.#limits
    const flushed = await this.#uplink.flush(flushWithinMs)
    if (!flushed)
      this.#log.warn(this.#uplink.stats(), 'the bus is away: what was held for it is lost with this node')
    await Promise.race([this.#releases.settled(), pause(flushWithinMs)])
    this.#transport?.close()
    this.#downlink.close()
    this.#life.close()
    this.#exchange.close()
    this.#recovery?.stop()
    this.#unwatch()
    this.#keepalive.stop()
    this.#uplink.close()
    await Promise.all([this.#meters.close(), this.#ownClaims?.close()])
    this.#log.info('closed')
  }

  #stopAccepting(): void {
    this.#accepting = false
    this.#descriptors.stop()
    this.#transport?.stop()
  }

  #evict(node: string, deviceId: string, belowEpoch: number): void {
    const disconnect = { deviceId, belowEpoch, reason: svc.v1.CloseReason.SUPERSEDED }
    void this.#bus.publish(names.edge(node), svc.v1.EdgeMessage.encode({ disconnect }).finish())
  }

  #makeExchange(): Exchange {
    const deliver = (messages: readonly Uint8Array[]) => {
      this.#counters.messagesReturned += messages.length
      for (const message of messages) this.#downlink.take(message)
    }
    return new Exchange({
      urls: this.#config.exchangeUrls,
      key: this.#config.sharedKey,
      node: this.node,
      version: this.#config.version,
      limits: this.#limits,
      counters: this.#counters,
      connections: () => this.#registry.residents.size,
      // Others may notice its return later than this node does; until then they publish nothing.
      busAway: () => !this.#bus.up || performance.now() - this.#busChangedAt < this.#limits.busSettlesMs,
      deliver,
      take: async ({ revocations, profiles, serverTimeMs, messages, life }) => {
        this.#clock.learn(serverTimeMs)
        this.#life.heard(life)
        // First: what follows may have to wait for a store that hangs.
        deliver(messages)
        this.#life.learned(profiles)
        await this.#revocations.carryOut(revocations)
        await this.#claims.remember(profiles)
      },
      onState: (up, why) => {
        if (up) this.#log.info('the control plane answers')
        else this.#log.warn({ reason: why?.message }, 'the control plane does not answer')
      },
    })
  }

  #makeRecovery(): Recovery | undefined {
    const claims = this.#claims
    if (!(claims instanceof FallbackClaims)) return undefined
    return new Recovery({
      bus: this.#bus,
      claims,
      held: () => this.#registry.claimsOf(this.node),
      superseded: (lost) => this.#registry.supersede(lost),
      evict: (evicted) => {
        for (const { node, deviceId, epoch } of evicted) this.#evict(node, deviceId, epoch)
      },
      failed: (error) => this.#failed(error),
    })
  }

  #sockets(): Promise<Transport> {
    const withoutEngine = (reason: string) =>
      this.#log.warn({ reason }, 'uWebSockets.js does not run here: agents are served with ws')
    return socketsOf(this.#config, this.#limits, this.#sharesPorts, withoutEngine, this.#without)
  }

  #failed(error: unknown): void {
    this.#counters.errors++
    this.#log.error({ err: error }, 'unexpected')
  }
}

/** A SessionEvent with its Hello, about. */
const eventBytes = 256

/**
 * A gateway that is not listening yet. The bus is the host's; with the in-process one, control plane and gateway are given the same
 * object.
 */
export const buildGateway = (options: GatewayOptions): Gateway => new Gateway(options)
