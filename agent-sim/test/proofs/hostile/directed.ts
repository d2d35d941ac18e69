import { encodeBody, withSeq } from '@svc/proto'
import { none, type Row } from '../verdict.ts'
import type { Identity } from '../ledgers.ts'
import type { Transport } from './model.ts'
import { connects, packets } from './packets.ts'
import type { Peer } from './peer.ts'
import { type Scene, transports } from './scene.ts'
import { inPieces, webSocketFrames } from './websocket-frames.ts'

const overMqtt = transports.filter((transport) => transport !== 'websocket')
const overWebSocket = transports.filter((transport) => transport !== 'mqtt')
const beat = Buffer.from(withSeq(3, encodeBody({ heartbeat: {} })))
const patienceMs = 20_000
const atOnce = 8
const unheardMs = 1_000

/** One thing that is said, and what is wrong with what came of it, if anything is. */
type Try = () => Promise<string | undefined>

/** Everything that can be wrong below the envelope, one connection each: packets of MQTT, its CONNECT, frames of WebSocket. */
export async function directed(scene: Scene): Promise<Row[]> {
  const victim = await scene.device()
  const tries = {
    'MQTT packets': overMqtt.flatMap((transport) =>
      Object.keys(packets).map((name) => packetTry(scene, transport, name, victim)),
    ),
    'MQTT CONNECTs': overMqtt.flatMap((transport) =>
      Object.keys(connects).map((name) => connectTry(scene, transport, name)),
    ),
    'WebSocket frames': overWebSocket.flatMap((transport) => [
      ...Object.keys(webSocketFrames).map((name) => webSocketTry(scene, transport, name)),
      piecesTry(scene, transport),
    ]),
  }
  const rows: Row[] = []
  for (const [what, all] of Object.entries(tries)) {
    const faults = (await inTurn(all)).flatMap((fault) => (fault ? [fault] : []))
    rows.push({
      ...none(`${what} that are wrong and are not ended, or kept, as they must be, of ${all.length}`, faults),
    })
  }
  return rows
}

/** So many at a time: each is a device of its own. */
async function inTurn(tries: readonly Try[]): Promise<(string | undefined)[]> {
  const results: (string | undefined)[] = []
  const rest = [...tries]
  const lane = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) results.push(await next())
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return results
}

const packetTry =
  (scene: Scene, transport: Transport, name: string, victim: Identity): Try =>
  async () => {
    const { bytes, fate, suback } = packets[name] ?? { bytes: () => Buffer.alloc(0), fate: '' }
    const peer = await scene.enter(transport)
    peer.write(peer.frame(bytes(peer.identity, victim)))
    const fault = await outcome(peer, fate)
    const missing = suback !== undefined && peer.seen.subacks.at(-1) !== suback
    peer.reset()
    return (fault ?? missing)
      ? `${name} over ${transport}: ${fault ?? `SUBACK ${peer.seen.subacks.at(-1)}`}`
      : undefined
  }

const connectTry =
  (scene: Scene, transport: Transport, name: string): Try =>
  async () => {
    const { bytes, reason, connack } = connects[name] ?? { bytes: () => Buffer.alloc(0), reason: '' }
    const peer = await scene.open(transport)
    await peer.upgrade()
    peer.write(peer.frame(bytes(peer.identity)))
    const ended = await peer.ended(patienceMs)
    const said = transport === 'mqtt' ? `CONNACK ${peer.seen.connack}` : peer.reason
    const wanted = transport === 'mqtt' ? `CONNACK ${connack}` : reason
    peer.reset()
    return ended && said === wanted
      ? undefined
      : `${name} over ${transport}: ${ended ? said : 'open'}, not ${wanted}`
  }

const webSocketTry =
  (scene: Scene, transport: Transport, name: string): Try =>
  async () => {
    const { bytes, fate } = webSocketFrames[name] ?? { bytes: Buffer.alloc(0), fate: '' }
    const peer = await scene.enter(transport)
    peer.write(bytes)
    const fault = await outcome(peer, fate)
    peer.reset()
    return fault && `${name} over ${transport}: ${fault}`
  }

const piecesTry =
  (scene: Scene, transport: Transport): Try =>
  async () => {
    const peer = await scene.enter(transport)
    const { envelope } = { envelope: peer.envelope(beat) }
    // What a client's frame has before its payload: two bytes and the mask.
    peer.write(inPieces(envelope.subarray(6)))
    const answered = await peer.until(() => peer.seen.answers === 1, patienceMs)
    peer.reset()
    return answered ? undefined : `a message in pieces over ${transport} is not heard`
  }

/** Undefined: it came as it had to. Who is kept is still answered. */
async function outcome(peer: Peer, fate: string): Promise<string | undefined> {
  if (fate === 'kept') {
    const before = peer.seen.answers
    peer.write(peer.envelope(beat))
    return (await peer.until(() => peer.seen.answers > before, patienceMs))
      ? undefined
      : `${peer.reason ?? 'no answer'}, not kept`
  }
  if (fate === 'unheard') {
    const heard = await peer.until(() => peer.seen.answers > 0, unheardMs)
    return heard ? 'heard' : undefined
  }
  if (!(await peer.ended(patienceMs))) return `open, not ${fate}`
  return fate === 'closed' || peer.reason === fate ? undefined : `${peer.reason ?? 'no reason'}, not ${fate}`
}
