import { join } from 'node:path'
import { Agent, type AgentOptions } from '../agent.ts'
import { simulatedBehaviour } from '../behaviours/fleet/simulated-behaviour.ts'
import { pause, type Random, systemClock } from '../clock.ts'
import { keyRing } from '../commands/key-ring.ts'
import type { AgentEvent } from '../events.ts'
import { Credential, newDeviceKey } from '../identity/credential.ts'
import { enroll } from '../identity/enroll.ts'
import { appendIdentity } from '../identity/files.ts'
import { type Identity, withTokens } from '../identity/identity.ts'
import { DiskLedger } from '../ledger/disk.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { MemoryLedger } from '../ledger/memory.ts'
import type { TransportKind } from '../transport/kinds.ts'
import { openTransport } from '../transport/open.ts'
import { rememberedConfig } from '../update/kept-config.ts'
import { simulatedUpdater } from '../update/simulated-updater.ts'
import { trustedKeys } from '../update/trusted-keys.ts'
import { agentVersion } from '../version.ts'
import { Watchdog, type WatchdogOptions, type WatchdogPace } from '../watchdog/watchdog.ts'
import type { Blow } from './churn.ts'
import { Tether } from './tether.ts'

/** A device of a fleet, once it is enrolled. */
export interface FleetAgent {
  readonly number: number
  readonly deviceId: string
  readonly hostname: string
  /** how it reaches its gateways */
  readonly via: TransportKind
  /** of its present life: each return from a mishap is a new one */
  readonly agent: Agent
  /** where devices of the fleet have one */
  readonly watchdog: Watchdog | undefined
  restart(): Promise<void>
}

export interface MemberOptions {
  number: number
  via: TransportKind
  api: string
  enrollmentKey: string
  prefix: string
  stateDir: string | undefined
  ledgerDir: string | undefined
  gateways: readonly string[] | undefined
  keepaliveSeconds: number | undefined
  /** enrolls with a key, so that its token alone opens nothing */
  withKey: boolean
  watchdogs: WatchdogPace | undefined
  random: Random
  ownTime: boolean
  /** From an earlier run; enrolled anew without it. */
  identity: Identity | undefined
  signal: AbortSignal
  observe: (deviceId: string, event: AgentEvent) => void
}

/** Makes device `number` of a fleet, enrolled and not yet started. Rejects as `enroll` does, or when no gateway speaks its transport. */
export async function makeMember(options: MemberOptions): Promise<Member> {
  const { number, prefix, via, observe, keepaliveSeconds, random } = options
  const clock = systemClock
  const behaviour = simulatedBehaviour({ number, prefix, clock })
  const identity = options.identity ?? (await enrolled(options, behaviour.facts))
  const { deviceId } = identity
  const credential = new Credential({
    ...identity,
    keep: async (tokens) => {
      if (options.stateDir !== undefined)
        await appendIdentity(options.stateDir, number, withTokens(identity, tokens))
    },
    now: () => clock.now(),
  })
  const gateways = options.gateways ?? identity.gateways
  const tether = new Tether(
    openTransport(via, {
      gateways,
      deviceId,
      token: () => credential.token,
      password: () => credential.password(),
      random,
      keepaliveSeconds,
    }),
  )
  const ledger = await openLedger(options, deviceId)
  const agent: AgentOptions = {
    deviceId,
    keys: keyRing(identity.signingKeys),
    transport: tether,
    credential,
    ledger,
    behaviour,
    clock,
    random,
    ownTime: options.ownTime,
    config: rememberedConfig(),
    updater: simulatedUpdater(agentVersion, trustedKeys(identity.releaseKeys)),
    observe: (event) => observe(deviceId, event),
  }
  const watchdog = options.watchdogs && {
    ...options.watchdogs,
    version: agentVersion,
    transport: openTransport('websocket', {
      gateways,
      deviceId,
      token: () => credential.token,
      password: () => credential.password(),
      random,
    }),
    proof: () => credential.proof(),
    clock,
    random,
  }
  return new Member({ number, via, hostname: behaviour.facts.hostname, tether, agent, watchdog })
}

interface Parts {
  number: number
  via: TransportKind
  hostname: string
  tether: Tether
  agent: AgentOptions
  watchdog: Omit<WatchdogOptions, 'passOn'> | undefined
}

/** One device over all its lives: identity and ledger stay, agents come and go. */
export class Member implements FleetAgent {
  readonly number: number
  readonly via: TransportKind
  readonly deviceId: string
  readonly hostname: string
  readonly #options: AgentOptions
  readonly #tether: Tether
  #state: 'here' | 'away' | 'ended' = 'here'
  readonly watchdog: Watchdog | undefined
  agent: Agent

  constructor({ number, via, hostname, tether, agent, watchdog }: Parts) {
    this.number = number
    this.via = via
    this.deviceId = agent.deviceId
    this.hostname = hostname
    this.#tether = tether
    this.#options = { ...agent, stopped: () => (this.#state = 'ended') }
    this.agent = new Agent(this.#options)
    this.watchdog =
      watchdog && new Watchdog({ ...watchdog, passOn: (heartbeat) => this.agent.passOn(heartbeat) })
  }

  /** Brings the agent back after its process was killed. */
  async restart(): Promise<void> {
    this.agent = new Agent(this.#options)
    await this.agent.start()
  }

  get ledger(): Ledger {
    return this.#options.ledger
  }

  /** It, or its network, is gone for now. */
  get isAway(): boolean {
    return this.#state === 'away'
  }

  /** False when nothing can befall it: it is away already, or the server wants no more of it. */
  get isHere(): boolean {
    return this.#state === 'here'
  }

  /** Resolves when the mishap is over. An abort of `signal` ends it without a return. */
  async suffer({ mishap, awayMs }: Blow, signal: AbortSignal): Promise<void> {
    if (!this.isHere) return
    this.#state = 'away'
    if (mishap === 'leave') await this.agent.stop()
    else if (mishap === 'crash') this.agent.kill()
    else this.#tether.cut()
    await pause(systemClock, awayMs, signal)
    this.#tether.mend()
    if (this.#state !== 'away' || signal.aborted) return
    this.#state = 'here'
    if (mishap === 'network') return this.agent.networkChanged()
    await this.restart()
  }
}

async function enrolled(
  { api, enrollmentKey, stateDir, number, withKey, random, signal, observe }: MemberOptions,
  facts: Parameters<typeof enroll>[0]['facts'],
): Promise<Identity> {
  const identity = await enroll({
    api,
    enrollmentKey,
    facts,
    ...(withKey && { key: newDeviceKey() }),
    signal,
    clock: systemClock,
    random,
    retrying: (why, inMs) =>
      observe('', { kind: 'trouble', text: `enrollment: ${why}, again in ${inMs} ms` }),
  })
  if (stateDir !== undefined) await appendIdentity(stateDir, number, identity)
  return identity
}

const openLedger = async ({ ledgerDir, observe }: MemberOptions, deviceId: string): Promise<Ledger> =>
  ledgerDir === undefined
    ? new MemoryLedger(systemClock)
    : DiskLedger.open(join(ledgerDir, 'devices', deviceId), systemClock, (text) =>
        observe(deviceId, { kind: 'trouble', text }),
      )
