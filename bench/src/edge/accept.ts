import { setTimeout as pause } from 'node:timers/promises'
import type { Bench, Figure } from '../method/contract.ts'
import { cpuMicros } from '../method/cpu.ts'
import type { Identity } from '../wire/connection.ts'
import { startWire, type Wire } from '../wire/wire.ts'
import { connectionsPerSecond } from './pace.ts'
import { meshcentral } from './meshcentral.ts'
import { aedes, failedAt, mosquitto, ours, type Server } from './sides.ts'
import { startSite } from './site.ts'

const [perConnect, rate] = ['CPU per connect', 'connects per second']
/** What connecting sets off goes on for a moment: the gateway tells the control plane within 250 ms. */
const aftermathMs = { full: 1_000, quick: 400 }

const figures: Figure[] = [
  {
    id: 'G3',
    title: 'authenticated accept, with its claim in Redis',
    measure: perConnect,
    side: 'ours',
    peer: 'aedes',
    target: { atMost: 125, ratioAtMost: 0.2 },
    limitedBy: 'the claim: one script call of ioredis for each connect, its encoding and the answer',
    wouldReach: 'the claims of all who come in one turn of the event loop in one script call',
  },
  {
    id: 'G3',
    title: 'the same beside a server of the same kind',
    measure: perConnect,
    side: 'ours',
    peer: 'meshcentral',
    target: {},
    limitedBy: 'the claim: one script call of ioredis for each connect, its encoding and the answer',
  },
  {
    id: 'G3',
    title: 'the same over MQTT, with its subscription',
    measure: perConnect,
    side: 'ours:mqtt',
    peer: 'aedes',
    target: { ratioAtMost: 1.2 },
    limitedBy: 'aedes: what it makes for each client',
    wouldReach: 'an MQTT codec of our own on the engine, without streams',
  },
]

/**
 * What it costs a server to let one client in: ours checks the token, takes the claim in Redis and tells the control plane; the
 * brokers take anybody, and a subscription with that; MeshCentral checks a signature and looks the device up. Servers live through all rounds, so that what is compiled once is compiled in the first.
 */
export const accept: Bench = {
  name: 'accept',
  title: 'CPU of an authenticated connect',
  measures: [
    { name: perConnect, unit: 'CPU-µs', digits: 1 },
    { name: rate, unit: 'per second', digits: 0 },
  ],
  figures,
  run: async (ground) => {
    const site = await startSite(ground, { agents: ground.scale, aside: true })
    const wire = await startWire(ground)
    const sides = [
      ours(site, 'svc'),
      aedes(ground),
      ours(site, 'mqtt'),
      mosquitto(ground, 'mqtt'),
      mosquitto(ground, 'mqtt-ws'),
      await meshcentral(ground),
    ].filter((side) => side !== undefined)
    ground.progress('starting all sides')
    const servers = await Promise.all(sides.map(async (side) => ({ side, server: await side.start() })))
    // One round that does not count: devices become known to the gateways' Redis, and hot code is compiled.
    for (let round = 0; round <= ground.rounds; round++)
      for (const { side, server } of servers) {
        ground.progress(
          round === 0 ? `warming up ${side.name}` : `round ${round} of ${ground.rounds}: ${side.name}`,
        )
        const [seen, clientBusy] = await connectAll(wire, server, {
          agents: server.agents ?? site.agents,
          aftermathMs: aftermathMs[ground.quick ? 'quick' : 'full'],
        }).catch(failedAt(side, server))
        if (round > 0) ground.saw(side.name, round, seen, clientBusy)
      }
  },
}

async function connectAll(
  wire: Wire,
  { kind, port, tls, pid }: Server,
  { agents, aftermathMs }: { agents: readonly Identity[]; aftermathMs: number },
): Promise<[seen: Record<string, number>, clientBusy: number]> {
  const clients = await wire.clients({ kind, port, tls, perSecond: connectionsPerSecond(agents.length) })
  const [began, before, busy] = [performance.now(), cpuMicros(pid), wire.watch()]
  await clients.connect(agents)
  const seconds = (performance.now() - began) / 1000
  const clientBusy = busy()
  await pause(aftermathMs)
  const seen = { [perConnect]: (cpuMicros(pid) - before) / agents.length, [rate]: agents.length / seconds }
  await clients.close()
  // Until the server has noticed, and has given the claims back.
  await pause(aftermathMs)
  return [seen, clientBusy]
}
