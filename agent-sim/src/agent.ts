import { randomUUID } from 'node:crypto'
import { type CloseReason, protocol, svc } from '@svc/proto'
import type { Behaviour, Context, Done } from './behaviours/behaviour.ts'
import type { Clock, Random, Timer } from './clock.ts'
import type { KeyRing } from './commands/key-ring.ts'
import type { Order } from './commands/order.ts'
import { Work } from './commands/work.ts'
import { Link, type UpBody } from './connection/link.ts'
import type { Observe, UpdatePhaseName } from './events.ts'
import type { Credential } from './identity/credential.ts'
import { Renewal } from './identity/renewal.ts'
import type { Ledger } from './ledger/ledger.ts'
import { Heart } from './reports/heart.ts'
import { Inventory } from './reports/inventory.ts'
import type { Transport } from './transport/transport.ts'
import { type KeptConfig, rememberedConfig } from './update/kept-config.ts'
import { noUpdater } from './update/no-updater.ts'
import type { MakeUpdater, Updater } from './update/updater.ts'

/** How long a clean stop waits for running commands to end. */
const stopWorkWithinMs = 5_000
/** And before that, when an update is the reason, for them to end by themselves. */
const restWithinMs = 10_000
/** After the network changed, a connection on which nobody answers for so long is no connection. */
const probeWithinMs = 1_500

export interface AgentOptions {
  deviceId: string
  keys: KeyRing
  transport: Transport
  ledger: Ledger
  behaviour: Behaviour
  clock: Clock
  random: Random
  observe: Observe
  /** What it proves itself with; without it the transport has one token for ever. */
  credential?: Credential
  /** What the server configured; without it, kept as long as this object. */
  config?: KeptConfig
  /** Without it every update is refused. */
  updater?: MakeUpdater
  /** The agent's file was replaced and the agent has made way: what is in its place is to be started. */
  replaced?: () => void
  /** A test's: it takes its own clock for the server's. */
  ownTime?: boolean
  /** Inventory is collected anew this often; 0: at the start and when asked only. */
  inventoryEveryMs?: number
  /** The agent ended for good: credential dead, device decommissioned. */
  stopped?: (reason: CloseReason, text: string) => void
}

/** One device. Everything it says and does, whatever carries it and whether the device is real. */
export class Agent {
  readonly deviceId: string
  readonly #options: AgentOptions
  readonly #link: Link
  readonly #heart: Heart
  readonly #work: Work
  readonly #inventory: Inventory
  readonly #config: KeptConfig
  readonly #updater: Updater
  readonly #renewal: Renewal | undefined
  /** No other process has it, nor this one's next life. */
  readonly #instanceId = randomUUID()
  #clockOffsetMs = 0
  #collecting: Timer | undefined

  constructor(options: AgentOptions) {
    const { clock, random, observe, behaviour, deviceId, keys, ledger, updater = noUpdater } = options
    this.deviceId = deviceId
    this.#options = options
    const send = (body: UpBody) => this.#link.send(body)
    const serverNow = () => clock.now() + this.#clockOffsetMs
    const log = (text: string) => observe({ kind: 'trouble', text })
    this.#link = new Link({
      transport: options.transport,
      clock,
      random,
      observe,
      hello: (resumeToken) => this.#hello(resumeToken),
      live: (welcome) => this.#live(welcome),
      received: (envelope) => this.#received(envelope),
      down: () => this.#down(),
      otherCredential: () => options.credential?.refused() ?? false,
      serverTime: (ms) => this.#learnTime(ms),
      stopped: (reason, text) => this.#ended(reason, text),
    })
    this.#heart = new Heart({
      clock,
      random,
      beat: () => this.#heartbeat(),
      send: (heartbeat) => void (send({ heartbeat }) && observe({ kind: 'beat' })),
      answered: (tookMs) => observe({ kind: 'beat-acked', tookMs }),
      silent: () => this.#link.fail('KEEPALIVE_TIMEOUT', 'heartbeats are not answered'),
      trouble: log,
    })
    this.#work = new Work({
      deviceId,
      keys,
      ledger,
      clock,
      observe,
      serverNow,
      send,
      run: (order, context) => this.#run(order, context),
      maxFrameBytes: () => this.#link.maxFrameBytes,
    })
    this.#inventory = new Inventory({
      clock,
      collect: () => behaviour.collect(log),
      serverNow,
      send: (inventory) => send({ inventory }),
      sent: (what) => observe({ kind: 'inventory', what }),
    })
    this.#config = options.config ?? rememberedConfig()
    this.#updater = updater({
      os: behaviour.facts.osType,
      arch: behaviour.facts.architecture,
      clock,
      random,
      serverNow,
      autoUpdate: () => this.#config.present.autoUpdate,
      say: (updateStatus) => this.#sayUpdate(updateStatus),
      log,
      makeWay: () => void this.#makeWay(),
      renew: () => this.#link.renew('another version of the agent'),
    })
    this.#renewal = options.credential && this.#renewalOf(options.credential)
  }

  #renewalOf(credential: Credential): Renewal {
    const { clock, random, observe } = this.#options
    return new Renewal({
      credential,
      clock,
      random,
      send: (body) => this.#link.send(body),
      reconnect: () => this.#link.renew('another token'),
      trouble: (text) => observe({ kind: 'trouble', text }),
    })
  }

  get isConnected(): boolean {
    return this.#link.isLive
  }

  /** Takes up what the ledger holds, then connects. */
  async start(): Promise<void> {
    await this.#work.recover()
    this.#link.start()
    await this.#collect()
  }

  /** Says something for another program of this device, on this connection; false when there is none. */
  passOn(heartbeat: svc.v1.Heartbeat.$Properties): boolean {
    return this.#link.send({ heartbeat })
  }

  /** This machine has other addresses, or slept: whoever is connected makes sure of it, and who is not waits no longer. */
  networkChanged(): void {
    this.#link.networkChanged()
    this.#heart.probe(probeWithinMs)
  }

  /** Ends running commands, says goodbye. */
  async stop(reason: 'SHUTDOWN' | 'UNINSTALL' = 'SHUTDOWN'): Promise<void> {
    this.#collecting?.cancel()
    this.#updater.stop()
    await this.#endWork()
    await this.#link.stop(reason)
  }

  /** Another version takes over as the same device: what runs gets a moment, and there is no goodbye. */
  async #makeWay(): Promise<void> {
    this.#collecting?.cancel()
    await this.#work.rest(restWithinMs)
    await this.#endWork()
    await this.#link.leave()
    this.#options.replaced?.()
  }

  async #endWork(): Promise<void> {
    const { clock } = this.#options
    await new Promise<void>((resolve) => {
      const limit = clock.after(stopWorkWithinMs, resolve)
      void this.#work.stop().then(() => {
        limit.cancel()
        resolve()
      })
    })
  }

  /** As if the power went: no goodbye, no answers. */
  kill(): void {
    this.#collecting?.cancel()
    this.#updater.stop()
    this.#work.kill()
    this.#link.kill()
  }

  #hello(resumeToken: Uint8Array): svc.v1.Hello.$Properties {
    const { behaviour, ledger, credential } = this.#options
    const proof = credential?.proof()
    return {
      protocolMin: protocol.min,
      protocolMax: protocol.max,
      ...this.#versions(),
      os: behaviour.facts.osType,
      arch: behaviour.facts.architecture,
      bootId: behaviour.facts.bootId,
      resumeToken,
      ledgerHead: ledger.head,
      instanceId: this.#instanceId,
      ...(proof && { proof }),
    }
  }

  #live(welcome: svc.v1.Welcome): void {
    this.#learnTime(welcome.serverTimeMs)
    this.#renewal?.connected(welcome.renewCredentialInMs)
    this.#heart.start(welcome.heartbeatIntervalMs, this.#updater.isFresh)
    this.#work.connected()
    this.#updater.connected()
    this.#inventory.connected()
  }

  #down(): void {
    this.#heart.stop()
    this.#renewal?.disconnected()
    this.#work.disconnected()
    this.#inventory.disconnected()
  }

  #ended(reason: CloseReason, text: string): void {
    this.#collecting?.cancel()
    this.#updater.stop()
    void this.#work.stop()
    this.#options.stopped?.(reason, text)
  }

  /** What this version does not know is for a later one. */
  #received(envelope: svc.v1.Envelope): void {
    const { heartbeatAck, command, commandCancel, resultAck, inventoryAck, updateOffer, configUpdate } =
      envelope
    if (heartbeatAck) this.#beatAnswered(heartbeatAck as svc.v1.HeartbeatAck)
    else if (command) this.#work.command(command)
    else if (commandCancel?.commandId) this.#work.cancel(commandCancel.commandId)
    else if (resultAck?.commandId) this.#work.acked(resultAck.commandId)
    else if (inventoryAck?.kind)
      this.#inventory.acked(inventoryAck.kind, inventoryAck.hash ?? new Uint8Array())
    else if (updateOffer) this.#updater.offered(updateOffer)
    else if (configUpdate) void this.#configure(configUpdate)
    else if (envelope.credentialStaged)
      this.#renewal?.staged(envelope.credentialStaged.tokenSha256 ?? new Uint8Array())
  }

  async #configure(update: svc.v1.ConfigUpdate.$Properties): Promise<void> {
    const { observe } = this.#options
    try {
      await this.#config.take(update)
      observe({ kind: 'config', ...this.#config.present })
    } catch (error) {
      observe({ kind: 'trouble', text: `configuration ${update.version} is not kept: ${String(error)}` })
    }
  }

  #sayUpdate(updateStatus: svc.v1.UpdateStatus.$Properties): boolean {
    if (!this.#link.send({ updateStatus })) return false
    const { component, fromVersion: from, toVersion: to, phase, reason } = updateStatus
    this.#options.observe({
      kind: 'update',
      component: component ?? '',
      from: from ?? '',
      to: to ?? '',
      phase: svc.v1.UpdatePhase[phase ?? 0] as UpdatePhaseName,
      reason: reason ?? '',
    })
    return true
  }

  #beatAnswered({ serverTimeMs, nextIntervalMs }: svc.v1.HeartbeatAck): void {
    this.#learnTime(serverTimeMs)
    this.#heart.answered(nextIntervalMs)
    this.#updater.answered()
  }

  /** Expiry is written in server time; a host whose clock is wrong must still keep to it. */
  #learnTime(serverTimeMs: number): void {
    if (serverTimeMs <= 0) return
    const offsetMs = serverTimeMs - this.#options.clock.now()
    if (this.#options.credential) this.#options.credential.offsetMs = offsetMs
    if (!this.#options.ownTime) this.#clockOffsetMs = offsetMs
  }

  async #heartbeat(): Promise<svc.v1.Heartbeat.$Properties> {
    this.#updater.beat()
    return {
      ...(await this.#options.behaviour.vitals()),
      role: svc.v1.AgentRole.AGENT,
      ...this.#versions(),
      configVersion: this.#config.present.version,
      commandsInFlight: this.#work.inFlight,
    }
  }

  #versions() {
    const { agent, helper, watchdog } = this.#updater.versions
    return { agentVersion: agent, helperVersion: helper, watchdogVersion: watchdog }
  }

  async #run(order: Order, context: Context): Promise<Done> {
    const { commands } = this.#options.behaviour
    switch (order.type) {
      case 'refresh_inventory':
        return { result: { collected: await this.#inventory.refresh() } }
      case 'list_processes':
        return commands.list_processes(order.args, context)
      case 'run_script':
        return commands.run_script(order.args, context)
    }
  }

  async #collect(): Promise<void> {
    const { clock, observe, inventoryEveryMs = 0 } = this.#options
    if (inventoryEveryMs > 0) this.#collecting = clock.after(inventoryEveryMs, () => void this.#collect())
    try {
      await this.#inventory.refresh()
    } catch (error) {
      observe({ kind: 'trouble', text: `inventory: ${String(error)}` })
    }
  }
}
