import type { CloseReason } from '@svc/proto'
import { Agent, type AgentOptions } from '../agent.ts'
import type { Behaviour } from '../behaviours/behaviour.ts'
import { hostBehaviour } from '../behaviours/host/host-behaviour.ts'
import { systemClock } from '../clock.ts'
import { keyRing } from '../commands/key-ring.ts'
import { Credential, newDeviceKey } from '../identity/credential.ts'
import { enroll } from '../identity/enroll.ts'
import { loadIdentity, saveIdentity } from '../identity/files.ts'
import { type Identity, withTokens } from '../identity/identity.ts'
import { lockFolder } from '../identity/lock.ts'
import { DiskLedger } from '../ledger/disk.ts'
import { openTransport } from '../transport/open.ts'
import { openConfig } from '../update/kept-config.ts'
import { noUpdater } from '../update/no-updater.ts'
import type { MakeUpdater } from '../update/updater.ts'
import { describe, fieldsOf, type Log } from './log.ts'
import { watchNetwork } from './network.ts'

/** Disks fill and names change while an agent runs for months. */
const inventoryEveryMs = 15 * 60_000

export interface HostOptions {
  /** Base URL of the API, without `/api/v1`. Used until there is an identity. */
  api: string
  /** Used until there is an identity. */
  enrollmentKey?: string
  /** Identity and ledger, readable by the owner alone. */
  stateDir: string
  /** WebSocket URLs instead of those told at enrollment: the gateways have moved since. */
  gateways?: readonly string[]
  /** What updates this agent, once it is known which keys sign releases. Without it every update is refused. */
  updater?: (identity: Identity) => Promise<MakeUpdater>
  log?: Log
  /** Ends a start that still waits for its enrollment. */
  signal?: AbortSignal
}

/** The server wants no more of this device; waiting does not mend it. */
export interface Unwanted {
  reason: CloseReason
  text: string
}

export interface Host {
  readonly deviceId: string
  readonly agent: Agent
  /** Resolves when the server has let the device in once. */
  readonly admitted: Promise<void>
  /** Resolves when the agent has ended, with why: `undefined` after `stop`. */
  readonly ended: Promise<Unwanted | undefined>
  /** Resolves when the agent has made way for another version, whose file is in its place. */
  readonly replaced: Promise<void>
  /** Ends running commands and says goodbye. */
  stop(): Promise<void>
}

/** Runs the agent of this machine. Rejects when it cannot enroll or its folder is in use. */
export async function startHost(options: HostOptions): Promise<Host> {
  const { stateDir, log = () => {} } = options
  const release = await lockFolder(stateDir)
  try {
    const behaviour = await hostBehaviour()
    const known = (await loadIdentity(stateDir)) ?? (await becomeDevice(options, behaviour, log))
    const identity = { ...known, ...(options.gateways && { gateways: [...options.gateways] }) }
    const updater = (await options.updater?.(identity)) ?? noUpdater
    const config = await openConfig(stateDir)
    const ledger = await DiskLedger.open(stateDir, systemClock, log)
    const close = async () => {
      await ledger.close()
      await release()
    }
    const credential = new Credential({
      ...known,
      keep: (tokens) => saveIdentity(stateDir, withTokens(known, tokens)),
      now: () => systemClock.now(),
    })
    return await run({ identity, credential, behaviour, ledger, config, updater, log, close })
  } catch (error) {
    await release()
    throw error
  }
}

async function becomeDevice(
  { api, enrollmentKey, stateDir, signal }: HostOptions,
  behaviour: Behaviour,
  log: Log,
): Promise<Identity> {
  if (!enrollmentKey) throw new Error(`${stateDir} holds no identity: an enrollment key is needed`)
  const identity = await enroll({
    api,
    enrollmentKey,
    facts: behaviour.facts,
    key: newDeviceKey(),
    clock: systemClock,
    random: Math.random,
    retrying: (why, inMs) => log(`enrollment: ${why}, again in ${(inMs / 1000).toFixed(1)} s`),
    ...(signal ? { signal } : {}),
  })
  await saveIdentity(stateDir, identity)
  log(`enrolled as ${identity.deviceId}`)
  return identity
}

interface Parts extends Pick<AgentOptions, 'behaviour' | 'ledger' | 'config' | 'updater'> {
  identity: Identity
  credential: Credential
  log: Log
  close: () => Promise<void>
}

/** A promise, and what resolves it. */
function moment<T>(): { when: Promise<T>; comes: (value: T) => void } {
  let comes: (value: T) => void = () => {}
  const when = new Promise<T>((resolve) => {
    comes = resolve
  })
  return { when, comes }
}

async function run({ identity, credential, log, close, ...parts }: Parts): Promise<Host> {
  const [ended, admitted, replaced] = [moment<Unwanted | undefined>(), moment<void>(), moment<void>()]
  const { deviceId, gateways, signingKeys } = identity
  const agent = new Agent({
    ...parts,
    deviceId,
    keys: keyRing(signingKeys),
    credential,
    transport: openTransport('websocket', {
      gateways,
      deviceId,
      token: () => credential.token,
      random: Math.random,
    }),
    clock: systemClock,
    random: Math.random,
    inventoryEveryMs,
    observe: (event) => {
      const line = describe(event)
      if (line) log(line, fieldsOf(event))
      if (event.kind === 'connected') admitted.comes()
    },
    stopped: (reason, text) => ended.comes({ reason, text }),
    replaced: () => replaced.comes(),
  })
  const unwatch = watchNetwork(() => agent.networkChanged())
  await agent.start()
  const stop = once(async () => {
    unwatch()
    await agent.stop()
    await close()
    ended.comes(undefined)
  })
  return { deviceId, agent, admitted: admitted.when, ended: ended.when, replaced: replaced.when, stop }
}

function once(action: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined
  return () => (result ??= action())
}
