import { setTimeout as sleep } from 'node:timers/promises'
import { encodeBody, withSeq } from '@svc/proto'
import type { Identity } from '../ledgers.ts'
import { randomFrom } from '../random.ts'
import { count, type Counts } from './counts.ts'
import { type Frame, Frames } from './frames.ts'
import type { Transport } from './model.ts'
import { Peer } from './peer.ts'
import { type Script, Scripts } from './scripts.ts'

/** What one transport was told, and what came of it. Frames count once what was said behind them shows that they were handled. */
export interface Told {
  transport: Transport
  frames: number
  decoded: number
  connections: number
  mutations: Counts
  /** messages that decode, by what the envelope held */
  kinds: Counts
  /** how connections were ended, in the gateway's words */
  reasons: Counts
  /** connections that were told to come again later */
  later: Counts
  faults: string[]
}

export interface Fuzz {
  transport: Transport
  url: string
  /** devices that misbehave, one connection each at a time */
  identities: readonly Identity[]
  frames: number
  seed: number
  /** stops at so many faults */
  enough?: number
  say: (line: string) => void
}

export const hello = withSeq(
  1,
  encodeBody({
    hello: { protocolMin: 1, protocolMax: 1, agentVersion: '0.0.0', os: 'linux', arch: 'amd64' },
  }),
)

const sayEvery = 100_000
const maxFaults = 10
const patienceMs = 20_000

/** Says mutated frames on one transport until so many were handled, each judged by the model. */
export async function fuzz(asked: Fuzz): Promise<Told> {
  const { transport, identities, frames, seed, enough = maxFaults } = asked
  const told: Told = {
    transport,
    frames: 0,
    decoded: 0,
    connections: 0,
    mutations: new Map(),
    kinds: new Map(),
    reasons: new Map(),
    later: new Map(),
    faults: [],
  }
  const scripts = new Scripts(new Frames(seed), transport, randomFrom(seed + 1))
  const lane = async (identity: Identity) => {
    while (told.frames < frames && told.faults.length < enough) await play(asked, scripts, identity, told)
  }
  await Promise.all(identities.map(lane))
  return told
}

async function play(asked: Fuzz, scripts: Scripts, identity: Identity, told: Told): Promise<void> {
  const { transport, url } = asked
  const peer = await Peer.open({ transport, url, identity, schema: scripts.frames.schema }).catch(
    () => undefined,
  )
  if (!peer) return later(told, 'not listening')
  told.connections++
  if (!(await peer.enter(hello))) {
    await peer.ended(patienceMs)
    return later(told, peer.reason ?? `HTTP ${peer.seen.status}, CONNACK ${peer.seen.connack}`)
  }
  const script = scripts.next()
  const acknowledged = speak(peer, script, scripts.random)
  if (script.last) await peer.ended(patienceMs)
  else
    await peer.until(
      () => peer.seen.answers >= script.answers && peer.seen.pubacks >= acknowledged,
      patienceMs,
    )
  judge(peer, script, acknowledged, asked, told)
  peer.reset()
}

/** Says all of it in one go. Answers with how many of the kept frames are to be acknowledged. */
function speak(peer: Peer, { kept, last }: Script, random: () => number): number {
  const isMqtt = peer.transport !== 'websocket'
  let acknowledged = 0
  const pieces = kept.map(({ bytes }) => peer.envelope(bytes, isMqtt && random() < 0.5 ? ++acknowledged : 0))
  if (last) pieces.push(peer.envelope(last.frame.bytes, isMqtt && random() < 0.5 ? kept.length + 1 : 0))
  peer.write(Buffer.concat(pieces))
  return acknowledged
}

function judge(peer: Peer, script: Script, acknowledged: number, { say }: Fuzz, told: Told): void {
  const { seen, reason } = peer
  const { kept, answers, last } = script
  // The way up was full: it is said so, and asks the agent to come again with what it keeps.
  if (reason === 'UNAVAILABLE' && peer.transport !== 'websocket') return count(told.later, reason)
  const wanted = last ? last.reason : undefined
  const right = last
    ? peer.isOver && reason === wanted && seen.answers === answers
    : !peer.isOver && seen.answers === answers && seen.pubacks === acknowledged
  if (!right) {
    const outcome = `${peer.isOver ? 'ended' : 'open'}, ${reason ?? 'no reason'}, ${seen.answers} of ${answers} answers, ${seen.pubacks} of ${acknowledged} PUBACKs`
    const frames = [...kept, ...(last ? [last.frame] : [])]
    const all = frames.map(({ mutation, bytes }) => `${mutation} ${bytes.subarray(0, 60).toString('hex')}`)
    return void told.faults.push(`wanted ${wanted ?? 'to be kept'}: ${outcome}: … ${all.at(-1)}`)
  }
  for (const frame of kept) handled(frame, told)
  if (!last) return
  handled(last.frame, told)
  count(told.reasons, last.reason)
  if (Math.floor(told.frames / sayEvery) > Math.floor((told.frames - kept.length - 1) / sayEvery))
    say(`${told.frames} frames over ${told.transport}, ${told.connections} connections`)
}

function handled({ said, mutation }: Frame, told: Told): void {
  told.frames++
  count(told.mutations, mutation)
  if (!said) return
  told.decoded++
  const kind = said['body']
  if (typeof kind === 'string') count(told.kinds, kind)
}

/** Turned away, which is right when there is too much to do; whether it is too often is seen in the end. */
async function later(told: Told, why: string): Promise<void> {
  count(told.later, why)
  await sleep(200)
}
