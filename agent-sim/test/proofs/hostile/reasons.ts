import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  deviceKey,
  encodeBody,
  makeDeviceToken,
  proofText,
  signProof,
  svc,
  tokenHash,
  withSeq,
} from '@svc/proto'
import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { until } from '../../system/harness/until.ts'
import { done } from '../revocation/ask.ts'
import { count, type Counts } from './counts.ts'
import { hello } from './fuzz.ts'
import { closedFor } from './metrics.ts'
import type { Transport } from './model.ts'
import type { Peer } from './peer.ts'
import { type Scene, transports } from './scene.ts'

/** Connections that were ended, by reason; and what was otherwise than it had to be. */
export interface Reached {
  reasons: Counts
  faults: string[]
}

export interface Stage {
  scene: Scene
  /** a gateway of {@link narrowLimits} that cannot ask the control plane */
  narrow: Scene
  /** where the metrics of the first are */
  metricsPort: number
}

/** A few newcomers at once are too many, and a device may be silent for a second. */
export const narrowLimits = { helloBurst: 4, helloPerSecond: 5, silentIntervals: 0.05 } as const

/**
 * What a peer was ended with. `word`: how it is said, where that is not the reason's name: by a return code of CONNACK, which several
 * reasons share; `nothing` where nobody is there to read it.
 */
interface End {
  peer: Peer
  word?: string
}
type Way = (stage: Stage & { redis: Redis }, transport: Transport) => Promise<End>

type Reason = keyof typeof svc.v1.CloseReason
const { CloseReason } = svc.v1
const waitMs = 20_000
/** Between frames that nobody reads: it is the reader's slowness that is to be seen. */
const heavyEveryMs = 20
const beat = Buffer.from(withSeq(2, encodeBody({ heartbeat: {} })))
const foreign = { protocolMin: 99, protocolMax: 99 }
const heavy = svc.v1.Envelope.encode({ command: { body: Buffer.alloc(256 * 1024) } }).finish()

/** As the control plane would, to all gateways. */
const say = (redis: Redis, message: svc.v1.IEdgeMessage) =>
  redis.publish(names.edgeAll(), Buffer.from(svc.v1.EdgeMessage.encode(message).finish()))

/** A newcomer over TCP has a return code for an answer, and no more. */
const coded = (transport: Transport, code: number) =>
  transport === 'mqtt' ? { word: `CONNACK ${code}` } : {}

/** One that is in, and then something is said about it. */
const saidOf =
  (word: (deviceId: string) => svc.v1.IEdgeMessage): Way =>
  async ({ scene, redis }, transport) => {
    const peer = await scene.enter(transport)
    await say(redis, word(peer.identity.deviceId))
    return { peer }
  }

/** When a proof was made that is good no longer. */
const longAgoUs = () => (Date.now() - 600_000) * 1000

/** A site of another organization of the same partner. */
async function elsewhere({ api }: Scene, name: string): Promise<{ orgId: string; siteId: string }> {
  const made = (path: string, body: object) => api.want<{ id: string }>(201, 'POST', path, body)
  const { id: orgId } = await made('/orgs/organizations', { name })
  const { id: siteId } = await made('/orgs/sites', { orgId, name })
  return { orgId, siteId }
}

/** So many devices that the narrow gateway finds in Redis. */
async function known({ scene, narrow }: Stage, transport: Transport, many: number): Promise<Peer[]> {
  const peers = await Promise.all(Array.from({ length: many }, () => scene.enter('websocket')))
  for (const peer of peers) peer.reset()
  return Promise.all(peers.map(({ identity }) => narrow.open(transport, identity)))
}

/** Until the narrow gateway looks at newcomers again, as many as it ever does. */
const untilRested = () => sleep((narrowLimits.helloBurst / narrowLimits.helloPerSecond) * 1_000 + 300)

/** Reasons that no frame of an admitted device brings about, and how a peer comes to each. */
const ways: Partial<Record<Reason, Way>> = {
  CLOSE_REASON_UNSPECIFIED: saidOf((deviceId) => ({ disconnect: { deviceId, belowEpoch: 0, reason: 0 } })),
  CREDENTIAL_REVOKED: saidOf((deviceId) => ({ revocation: { deviceId, credentialVersion: 1_000 } })),
  QUARANTINED: saidOf((deviceId) => ({
    revocation: { deviceId, credentialVersion: 1_000, reason: CloseReason.QUARANTINED },
  })),
  DECOMMISSIONED: async ({ scene }, transport) => {
    const peer = await scene.enter(transport)
    await done(scene.api, 'DELETE', `/devices/${peer.identity.deviceId}`)
    return { peer }
  },
  MOVED: async ({ scene }, transport) => {
    const peer = await scene.enter(transport)
    await done(
      scene.api,
      'POST',
      `/devices/${peer.identity.deviceId}/move-org`,
      await elsewhere(scene, transport),
    )
    return { peer }
  },
  SUPERSEDED: async ({ scene }, transport) => {
    const peer = await scene.enter(transport)
    const newer = await scene.enter(transport, peer.identity)
    await peer.ended(waitMs)
    newer.reset()
    return { peer }
  },
  CREDENTIAL_INVALID: async ({ scene }, transport) => {
    const peer = await scene.open(transport)
    await peer.enter(hello, makeDeviceToken(peer.identity.deviceId))
    return { peer, ...coded(transport, 4) }
  },
  PROOF_STALE: async ({ scene }, transport) => {
    const { key, publicKey } = deviceKey(randomBytes(32))
    const identity = await scene.device({ publicKey: publicKey.toString('base64') })
    const { deviceId, deviceToken: token } = identity
    const proof = signProof({ deviceId, tokenSha256: tokenHash(token), atUs: longAgoUs() }, key)
    const peer = await scene.open(transport, identity)
    const overWebSocket = transport === 'websocket'
    await peer.enter(
      withSeq(1, encodeBody({ hello: { protocolMin: 1, protocolMax: 1, proof } })),
      overWebSocket ? token : `${token}.${proofText(proof)}`,
    )
    return { peer, ...coded(transport, 3) }
  },
  PROTOCOL_VERSION: async ({ scene }, transport) => {
    const peer = await scene.open(transport)
    const words = withSeq(1, encodeBody({ hello: foreign }))
    // Over MQTT the CONNECT is taken for ours, and what follows says better.
    if ((await peer.enter(words)) && transport !== 'websocket') peer.write(peer.envelope(words))
    return { peer }
  },
  ADMISSION_TIMEOUT: async ({ scene }, transport) => {
    const peer = await scene.open(transport)
    await peer.upgrade()
    return { peer, ...(transport === 'mqtt' && { word: 'nothing' }) }
  },
  FRAME_RATE: async ({ scene }, transport) => {
    const peer = await scene.enter(transport)
    for (let n = 0; n < 5; n++) peer.write(Buffer.concat(Array(500).fill(peer.envelope(beat)) as Buffer[]))
    return { peer }
  },
  BACKPRESSURE: async ({ scene, redis, metricsPort }, transport) => {
    const before = await closedFor(metricsPort, 'BACKPRESSURE')
    const peer = await scene.enter(transport)
    peer.socket.pause()
    await until('it is cut', async () => {
      await say(redis, { deliver: { deviceId: peer.identity.deviceId, epoch: 0, frame: heavy } })
      await sleep(heavyEveryMs)
      return (await closedFor(metricsPort, 'BACKPRESSURE')) > before
    })
    peer.socket.resume()
    return { peer, word: 'nothing' }
  },
  KEEPALIVE_TIMEOUT: async (stage, transport) => {
    const [peer] = await known(stage, transport, 1)
    await peer?.enter(hello)
    return { peer: peer as Peer, word: 'nothing' }
  },
  ADMISSION_RATE: async (stage, transport) => {
    const peers = await known(stage, transport, 2 * narrowLimits.helloBurst + 4)
    const isIn = await Promise.all(peers.map((peer) => peer.enter(hello)))
    return { peer: peers[isIn.indexOf(false)] as Peer, ...coded(transport, 3) }
  },
  UNAVAILABLE: async ({ narrow }, transport) => {
    const peer = await narrow.open(transport)
    await peer.enter(hello)
    return { peer, ...coded(transport, 3) }
  },
}

/** Those that the narrow gateway is for, and those that are told by how often they were counted: one after the other. */
const atNarrow: readonly string[] = ['KEEPALIVE_TIMEOUT', 'ADMISSION_RATE', 'UNAVAILABLE']
const counted: readonly string[] = ['BACKPRESSURE']

/** Has peers come to each reason on each transport. @param short what takes long on one transport alone, each on another */
export async function reach(stage: Stage, short: boolean): Promise<Reached> {
  const reached: Reached = { reasons: new Map(), faults: [] }
  const redis = new Redis(stage.scene.system.redis.url)
  const attempt = async (reason: string, transport: Transport) => {
    const fault = await come({ ...stage, redis }, reason, transport, reached).catch(
      (error: Error) => error.message,
    )
    if (fault) reached.faults.push(`${reason} over ${transport}: ${fault}`)
  }
  const all = Object.keys(ways).flatMap((reason) => transports.map((transport) => ({ reason, transport })))
  const isShort = (reason: string, transport: Transport) =>
    transport === transports[Object.keys(ways).indexOf(reason) % transports.length]
  const inTurn = async (reasons: readonly string[], rest: () => Promise<void>) => {
    for (const { reason, transport } of all.filter(
      ({ reason: one, transport: via }) => reasons.includes(one) && (!short || isShort(one, via)),
    )) {
      await attempt(reason, transport)
      await rest()
    }
  }
  const atOnce = all.filter(({ reason }) => !atNarrow.includes(reason) && !counted.includes(reason))
  await Promise.all([
    inTurn(atNarrow, untilRested),
    inTurn(counted, async () => undefined),
    ...atOnce.map(({ reason, transport }) => attempt(reason, transport)),
  ])
  redis.disconnect()
  return reached
}

async function come(
  stage: Stage & { redis: Redis },
  reason: string,
  transport: Transport,
  { reasons }: Reached,
): Promise<string | undefined> {
  const { peer, word = reason } = (await ways[reason as Reason]?.(stage, transport)) ?? {}
  const ended = await peer?.ended(waitMs)
  const heard = peer?.reason ?? (peer?.seen.connack ? `CONNACK ${peer.seen.connack}` : 'nothing')
  peer?.reset()
  if (!ended) return 'it is still open'
  if (heard !== word) return `it heard ${heard}, not ${word}`
  count(reasons, reason)
  return undefined
}
