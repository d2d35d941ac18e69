import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeBody, svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import type { Bench, Figure, Ground } from '../method/contract.ts'
import { cpuMicros } from '../method/cpu.ts'
import { cores, pin } from '../method/pin.ts'
import type { Agent } from './devices.ts'
import { Publisher, publishCommand } from '../wire/publisher.ts'
import { startWire, type Wire } from '../wire/wire.ts'
import { connectionsPerSecond } from './pace.ts'
import { aedes, failedAt, mosquitto, ours, type Server } from './sides.ts'
import { startSite } from './site.ts'

const [perDelivery, rate] = ['CPU per delivery', 'deliveries per second']
/** of a signed command without arguments */
const frameBytes = 300
/** deliveries in a round, so that ticks of 10 ms do not matter */
const enoughDeliveries = { full: 200_000, quick: 10_000 }
/** Of a quick run the figures mean nothing: it waits less. */
const settleMs = { full: 1_000, quick: 100 }

/** By a profile of the gateway while it delivers. */
const limits = {
  limitedBy:
    'one system call for each socket: writing to them is half of the time; ioredis and the decoding of messages are an eighth, garbage a sixteenth',
  wouldReach: 'writes of many sockets in one system call (io_uring), which the engine has not',
}

const figures: Figure[] = [
  {
    id: 'G6',
    title: 'one command to every agent of a gateway, each signed for itself',
    measure: perDelivery,
    side: 'ours',
    peer: 'aedes',
    target: { atMost: 15, ratioAtMost: 0.5 },
    ...limits,
  },
  {
    id: 'G6',
    title: 'one command to every agent of a gateway',
    measure: perDelivery,
    side: 'ours',
    peer: 'mosquitto',
    target: { ratioAtMost: 0.3 },
    ...limits,
  },
]

/**
 * What it costs a server to bring one message to each of its clients. Ours gets each from Redis, addressed and signed for one device, as
 * the control plane sends commands. The brokers may do what they are best at: one message to a topic that all have subscribed to.
 */
export const fanout: Bench = {
  name: 'fanout',
  title: 'CPU of one message delivered to every agent',
  measures: [
    { name: perDelivery, unit: 'CPU-µs', digits: 2 },
    { name: rate, unit: 'per second', digits: 0 },
  ],
  figures,
  run: async (ground) => {
    const site = await startSite(ground, { agents: ground.scale, aside: true })
    const wire = await startWire(ground)
    const publisher = await Publisher.connect(site.redis.url)
    ground.afterwards(() => publisher.close())
    const sides = [ours(site, 'svc'), aedes(ground), mosquitto(ground, 'mqtt')].filter(
      (side) => side !== undefined,
    )
    ground.progress('starting all sides')
    const servers = await Promise.all(sides.map(async (side) => ({ side, server: await side.start() })))
    // What publishes for the control plane is no part of the gateway.
    pin(process.pid, cores.client)
    for (let round = 0; round <= ground.rounds; round++)
      for (const { side, server } of servers) {
        const which = round === 0 ? 'warming up' : `round ${round} of ${ground.rounds}:`
        ground.progress(`${which} ${side.name}`)
        const delivering = deliver(ground, wire, server, { agents: site.agents, publisher })
        const [seen, clientBusy] = await delivering.catch(failedAt(side, server))
        if (round > 0) ground.saw(side.name, round, seen, clientBusy)
      }
  },
}

const everybody = 'everybody'

async function deliver(
  ground: Ground,
  wire: Wire,
  { kind, port, tls, node, pid }: Server,
  { agents, publisher }: { agents: readonly Agent[]; publisher: Publisher },
): Promise<[seen: Record<string, number>, clientBusy: number]> {
  const shared = kind === 'mqtt' ? { shared: everybody } : {}
  const perSecond = connectionsPerSecond(agents.length)
  const restMs = settleMs[ground.quick ? 'quick' : 'full']
  const clients = await wire.clients({ kind, port, tls, perSecond, ...shared })
  const messages = node ? messagesOf(node, agents) : undefined
  const send = messages
    ? () => publishEach(publisher, messages)
    : () => clients.publish({ topic: everybody, count: 1, bytes: frameBytes })
  await clients.connect(agents)
  await pause(restMs)
  await clients.expect()
  const times = Math.ceil(enoughDeliveries[ground.quick ? 'quick' : 'full'] / agents.length)
  const deliveries = times * agents.length
  const [began, before, busy] = [performance.now(), cpuMicros(pid), wire.watch()]
  for (let n = 1; n <= times; n++) {
    await send()
    // One at a time, as commands to a whole fleet come.
    await clients.arrived(n * agents.length)
  }
  const seconds = (performance.now() - began) / 1000
  const seen = { [perDelivery]: (cpuMicros(pid) - before) / deliveries, [rate]: deliveries / seconds }
  const clientBusy = busy()
  await clients.close()
  await pause(restMs)
  return [seen, clientBusy]
}

/** Messages under way at a time: more would only wait in this process. */
const atOnce = 500
/** What publishes shares a core with Redis and the load client; none of them may be what is measured. */
const mostPerSecond = 25_000

/** Commands for Redis, as many as go in one write. */
interface Chunk {
  bytes: Buffer
  count: number
}

/** As the control plane delivers: an EdgeMessage for each device, on the channel of its gateway. */
function messagesOf(node: string, agents: readonly Agent[]): Chunk[] {
  const body = randomBytes(frameBytes - signatureBytes)
  const frame = encodeBody({ command: { body, signature: randomBytes(signatureBytes), keyId: 'bench' } })
  const chunks: Chunk[] = []
  for (let at = 0; at < agents.length; at += atOnce) {
    const commands = agents.slice(at, at + atOnce).map(({ deviceId }) => {
      const message = { deliver: { deviceId, epoch: 0, frame } }
      return publishCommand(names.edge(node), svc.v1.EdgeMessage.encode(message).finish())
    })
    chunks.push({ bytes: Buffer.concat(commands), count: commands.length })
  }
  return chunks
}

async function publishEach(publisher: Publisher, chunks: readonly Chunk[]): Promise<void> {
  const began = performance.now()
  let sent = 0
  for (const { bytes, count } of chunks) {
    const early = began + (sent / mostPerSecond) * 1000 - performance.now()
    if (early > 0) await pause(early)
    await publisher.send(bytes, count)
    sent += count
  }
}

/** Ed25519 */
const signatureBytes = 64
