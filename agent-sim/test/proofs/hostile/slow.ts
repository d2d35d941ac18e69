import { setTimeout as sleep } from 'node:timers/promises'
import { clientFrame, upgradeRequest } from '../../../../bench/src/wire/websocket.ts'
import { none, type Row, seconds } from '../verdict.ts'
import { hello } from './fuzz.ts'
import type { Transport } from './model.ts'
import type { Peer } from './peer.ts'
import { type Scene, transports } from './scene.ts'

/** Who has not said who it is by then is ended (`helloWithinMs` of the gateway's limits); the timers behind it, and a busy machine, may take as long again. */
const budgetMs = 5_000
/** The head of a request has longer: uWebSockets.js counts to thirty, every four seconds, and cannot be told otherwise. */
const headBudgetMs = 34_000
const slackMs = 5_000
const everyMs = 1_000
const budgetBytes = 16 * 1024

interface Slow {
  over: Transport
  /** what is said byte by byte, once the beginning is over */
  says: (peer: Peer) => Buffer
  /** how one byte goes on the wire; absent: as it is */
  as?: (byte: Buffer) => Buffer
  /** a request's head comes before anybody is there to be told why it ends */
  head?: true
  word: string
}

const slow: Record<string, Slow> = {
  'a Hello': { over: 'websocket', says: () => clientFrame(hello), word: 'ADMISSION_TIMEOUT' },
  'a CONNECT': { over: 'mqtt', says: (peer) => peer.connectPacket(), word: 'nothing' },
  'a CONNECT in messages of a byte': {
    over: 'mqtt-ws',
    says: (peer) => peer.connectPacket(),
    as: (byte) => clientFrame(byte),
    word: 'ADMISSION_TIMEOUT',
  },
  'a message with a CONNECT': {
    over: 'mqtt-ws',
    says: (peer) => clientFrame(peer.connectPacket()),
    word: 'ADMISSION_TIMEOUT',
  },
  'the head of a request': {
    over: 'websocket',
    says: ({ identity }) =>
      upgradeRequest({ path: '/agent', protocol: 'svc.agent.v1', bearer: identity.deviceToken }),
    head: true,
    word: 'nothing',
  },
}

/** A byte a second, more than 16 KiB at once, and peers that are half gone. @param short without what takes half a minute */
export async function slowAndHalf(scene: Scene, short: boolean): Promise<Row[]> {
  const found = await Promise.all([
    ...Object.entries(slow)
      .filter(([, { head }]) => !head || !short)
      .map(([name, one]) => drip(scene, name, one)),
    ...transports.map((transport) => tooMuch(scene, transport)),
    tooMuchHead(scene),
    ...transports.flatMap((transport) => [
      halfGone(scene, transport, false),
      halfGone(scene, transport, true),
    ]),
  ])
  return [
    none(
      `of ${found.length}: strangers that say a byte a second, or more than 16 KiB, and peers that are half gone, and stay`,
      found.flatMap((fault) => (fault ? [fault] : [])),
    ),
  ]
}

async function drip(
  scene: Scene,
  name: string,
  { over, says, as, head, word }: Slow,
): Promise<string | undefined> {
  const peer = await scene.open(over)
  const began = performance.now()
  if (!head) await peer.upgrade()
  const limitMs = (head ? headBudgetMs : budgetMs) + slackMs
  for (const byte of says(peer)) {
    if (peer.isOver || performance.now() - began > limitMs) break
    peer.write(as ? as(Buffer.of(byte)) : Buffer.of(byte))
    await peer.ended(everyMs)
  }
  const took = performance.now() - began
  const heard = peer.reason ?? 'nothing'
  const ended = peer.isOver
  peer.reset()
  if (!ended) return `${name} goes on after ${seconds(took)}`
  return heard === word ? undefined : `${name}: it heard ${heard}, not ${word}`
}

/** One byte more than a stranger may send. */
async function tooMuch(scene: Scene, transport: Transport): Promise<string | undefined> {
  const peer = await scene.open(transport)
  await peer.upgrade()
  const large = Buffer.alloc(budgetBytes + 1, 1)
  peer.write(
    peer.frame(transport === 'websocket' ? large : Buffer.concat([Buffer.of(0x10, 0x81, 0x80, 0x01), large])),
  )
  const ended = await peer.ended(slackMs)
  const heard = peer.reason ?? 'nothing'
  peer.reset()
  const wanted = transport === 'mqtt' ? 'nothing' : 'OVERSIZED_FRAME'
  return ended && heard === wanted
    ? undefined
    : `${large.length} bytes over ${transport}: ${ended ? heard : 'open'}`
}

async function tooMuchHead(scene: Scene): Promise<string | undefined> {
  const peer = await scene.open('websocket')
  peer.write(Buffer.concat([Buffer.from('GET /agent HTTP/1.1\r\nx: '), Buffer.alloc(budgetBytes, 0x78)]))
  const ended = await peer.ended(slackMs)
  peer.reset()
  return ended ? undefined : 'a head of more than 16 KiB is read on'
}

/** It has said its last, and reads on: there is nobody to be kept. @param entered it is an admitted device */
async function halfGone(scene: Scene, transport: Transport, entered: boolean): Promise<string | undefined> {
  const peer = entered ? await scene.enter(transport) : await scene.open(transport)
  peer.socket.end()
  const ended = await peer.ended(slackMs)
  peer.reset()
  return ended ? undefined : `one that is half gone over ${transport}${entered ? ' after it came in' : ''}`
}

/** Connections torn down at any step of coming in, so many at a time. */
export async function resets(scene: Scene, count: number, random: () => number): Promise<Row> {
  const devices = await scene.devices(24)
  let torn = 0
  const lane = async (at: number) => {
    for (let n = at; n < count; n += devices.length) {
      const transport = transports[n % transports.length] ?? 'websocket'
      const peer = await scene.open(transport, devices[at]).catch(() => undefined)
      if (!peer) continue
      const step = Math.floor(random() * 5)
      if (step === 1) void peer.upgrade()
      if (step === 2 && (await peer.upgrade())) peer.write(peer.frame(hello.subarray(0, 3)))
      if (step >= 3) void peer.enter(hello)
      if (step === 4) await peer.until(() => peer.seen.welcome !== undefined, 2_000)
      else await sleep(Math.floor(random() * 4))
      peer.reset()
      torn++
    }
  }
  await Promise.all(devices.map((_, at) => lane(at)))
  return {
    what: 'connections torn down while they come in',
    expected: `≥ ${count * 0.99}`,
    seen: `${torn}`,
    pass: torn >= count * 0.99,
  }
}
