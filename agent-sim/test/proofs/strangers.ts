import { setTimeout as sleep } from 'node:timers/promises'
import { dial, type Peer } from '../system/harness/peer.ts'
import type { System } from '../system/harness/system.ts'
import { until } from '../system/harness/until.ts'
import type { Identity } from './ledgers.ts'

/** A bare connection that beats, and the epoch that it was welcomed with. */
export interface Caller {
  peer: Peer
  epoch: number
}

/** Connects a device at this very gateway, and beats as it is told to. */
export async function connectAt(
  url: string,
  { deviceToken }: Identity,
  heartbeatMs: number,
): Promise<Caller> {
  const peer = await dial(url, deviceToken)
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  const answer = await peer.greet()
  if (!answer?.welcome) throw new Error('not admitted')
  peer.beat(heartbeatMs)
  return { peer, epoch: answer.welcome.epoch ?? 0 }
}

/** How long it took, from now, until the other side closed; infinite when it did not within `withinMs`. */
export async function closedAfter({ peer }: Caller, withinMs: number): Promise<number> {
  const began = performance.now()
  const late = new AbortController()
  const closed = await Promise.race([
    peer.closed.then(() => true),
    sleep(withinMs, false, { signal: late.signal }).catch(() => false),
  ])
  late.abort()
  return closed ? performance.now() - began : Number.POSITIVE_INFINITY
}

/** A connection is known for so long before it is left behind. */
const knownAfterMs = 1_000

/**
 * Connects a device at one gateway and then, without a word to that, at the other; how long until the first connection was closed.
 * Infinite also when the second one is not the newer one by its epoch.
 */
export async function rivalry(
  identity: Identity,
  [first, second]: readonly [string, string],
  heartbeatMs: number,
  patienceMs: number,
): Promise<number> {
  const older = await connectAt(first, identity, heartbeatMs)
  await sleep(knownAfterMs)
  const newer = await connectAt(second, identity, heartbeatMs)
  const took = await closedAfter(older, patienceMs)
  newer.peer.drop()
  older.peer.drop()
  return newer.epoch > older.epoch ? took : Number.POSITIVE_INFINITY
}

/** Takes an agent's place, at the gateway where it is not; how long until it is known to be back in it. */
export async function comeBackAfter(system: System, identity: Identity, patienceMs: number): Promise<number> {
  const held = await presenceOf(system, identity)
  const elsewhere = system.gatewayUrls.findIndex((_, at) => system.nodeOf(at) !== held.node)
  const rival = await connectAt(system.gatewayUrls[elsewhere] ?? '', identity, patienceMs)
  const began = performance.now()
  const isBack = async () => (await presenceOf(system, identity)).epoch > rival.epoch
  const took = await until('it is back', isBack, patienceMs).then(
    () => performance.now() - began,
    () => Number.POSITIVE_INFINITY,
  )
  rival.peer.drop()
  return took
}

async function presenceOf({ sql }: System, { deviceId }: Identity) {
  const [row] = await sql<{ node: string | null; epoch: number }[]>`
    select node, epoch from device_presence where device_id = ${deviceId}`
  if (!row) throw new Error(`device ${deviceId} is not known`)
  return row
}
