import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeBody, svc } from '@svc/proto'
import { names, RedisBus } from '@svc/proto/bus'
import type { Bench, Figure, Ground } from '../method/contract.ts'
import { cpuMicros } from '../method/cpu.ts'
import { cores, pin } from '../method/pin.ts'
import type { Agent } from './devices.ts'
import { startWire, type Wire } from '../wire/wire.ts'
import { connectionsPerSecond } from './pace.ts'
import { aedes, failedAt, mosquitto, ours, type Server } from './sides.ts'
import { startSite } from './site.ts'

const [perDelivery, rate] = ['CPU per delivery', 'deliveries per second']
/** of a signed command without arguments */
const frameBytes = 300
/** deliveries in a round, so that ticks of 10 ms do not matter */
const enoughDeliveries = { full: 200_000, quick: 10_000 }
const settleMs = 1_000

const figures: Figure[] = [
  {
    id: 'G6',
    title: 'one command to every agent of a gateway, each signed for itself',
    measure: perDelivery,
    side: 'ours',
    peer: 'aedes',
    target: { atMost: 15, ratioAtMost: 0.5 },
    limitedBy: 'Redis: each delivery is a message of its own for ioredis to parse',
  },
  {
    id: 'G6',
    title: 'one command to every agent of a gateway',
    measure: perDelivery,
    side: 'ours',
    peer: 'mosquitto',
    target: { ratioAtMost: 0.3 },
    limitedBy: 'Redis: each delivery is a message of its own for ioredis to parse',
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
    const bus = new RedisBus(site.redis.url)
    ground.afterwards(() => bus.close())
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
        const delivering = deliver(ground, wire, server, { agents: site.agents, bus })
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
  { agents, bus }: { agents: readonly Agent[]; bus: RedisBus },
): Promise<[seen: Record<string, number>, clientBusy: number]> {
  const shared = kind === 'mqtt' ? { shared: everybody } : {}
  const perSecond = connectionsPerSecond(agents.length)
  const clients = await wire.clients({ kind, port, tls, perSecond, ...shared })
  const send = node
    ? () => publishEach(bus, node, agents)
    : () => clients.publish({ topic: everybody, count: 1, bytes: frameBytes })
  await clients.connect(agents)
  await pause(settleMs)
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
  await pause(settleMs)
  return [seen, clientBusy]
}

/** Messages under way at a time: more would only wait in this process. */
const atOnce = 500

/** As the control plane delivers: an EdgeMessage for each device, on the channel of its gateway. */
async function publishEach(bus: RedisBus, node: string, agents: readonly Agent[]): Promise<void> {
  const body = randomBytes(frameBytes - signatureBytes)
  const frame = encodeBody({ command: { body, signature: randomBytes(signatureBytes), keyId: 'bench' } })
  for (let at = 0; at < agents.length; at += atOnce) {
    const some = agents.slice(at, at + atOnce)
    const heard = await Promise.all(
      some.map(({ deviceId }) => {
        const message = { deliver: { deviceId, epoch: 0, frame } }
        return bus.publish(names.edge(node), svc.v1.EdgeMessage.encode(message).finish())
      }),
    )
    if (heard.includes(0)) throw new Error('nobody heard what was published: Redis or the gateway is away')
  }
}

/** Ed25519 */
const signatureBytes = 64
