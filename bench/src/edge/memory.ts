import type { Bench, Figure } from '../method/contract.ts'
import { perConnection, settledPss } from '../method/memory.ts'
import type { Identity } from '../wire/connection.ts'
import { startWire, type Wire } from '../wire/wire.ts'
import { makeCertificate } from './certificate.ts'
import { connectionsPerSecond } from './pace.ts'
import { aedes, failedAt, mosquitto, ours, type Server, type Side, ws } from './sides.ts'
import { startSite } from './site.ts'

const measure = 'memory per connection'
/** Connections at the lower end, which take the process's own memory out: decisions, 6. */
const fewAtMost = 2_000
const fewShare = 10
/** Connections that the load client may hold when a quick run measures all sides at once: memory does not mind the company, and it saves most of the time. */
const maxTogether = 16_000
/** over WebSocket, MQTT, both, and TLS */
const waysIn = 4
/** heartbeats per second: each device says something, so that its session has all that it ever has */
const beatsPerSecond = 5_000

const kilobytes = (count: number) => Math.round(count * 1024)

const figure = (id: string, title: string, side: string, more: Partial<Figure>): Figure => ({
  id,
  title,
  measure,
  side,
  target: {},
  limitedBy: 'the engine: a WebSocket of uWebSockets.js in C++, its JavaScript object, link and session',
  wouldReach: 'reached',
  ...more,
})

const mqttLimits = {
  limitedBy: 'aedes: a Client with two streams, parser and writer for each connection, beside our own stream',
  wouldReach: 'an MQTT codec of our own on the engine, without streams',
}

const figures: Figure[] = [
  figure('G2', 'WebSocket', 'ours', { peer: 'ws', target: { atMost: kilobytes(2), ratioAtMost: 0.35 } }),
  figure('G2', 'WebSocket', 'ours', { peer: 'mosquitto:websocket', target: { ratioAtMost: 0.35 } }),
  figure('G2', 'WebSocket', 'ours', { peer: 'aedes', target: { ratioAtMost: 0.15 } }),
  figure('G2t', 'WebSocket under TLS 1.3', 'ours:tls', {
    peer: 'ws:tls',
    target: { atMost: kilobytes(7), ratioAtMost: 0.25 },
    limitedBy: "the engine's TLS: an SSL object for each connection, buffers given back while it is idle",
  }),
  figure('G2m', 'MQTT over TCP', 'ours:mqtt', { peer: 'aedes', target: { ratioAtMost: 1.1 }, ...mqttLimits }),
  figure('G2m', 'MQTT over WebSocket', 'ours:mqtt-ws', {
    peer: 'aedes',
    target: { ratioAtMost: 1.1 },
    ...mqttLimits,
  }),
]

/** What a connection that does nothing holds in its server. Each side and round is a process of its own: a used one has memory to spare. */
export const memory: Bench = {
  name: 'edge',
  title: 'Memory of an idle connection with a full session',
  measures: [{ name: measure, unit: 'bytes', digits: 0 }],
  figures,
  run: async (ground) => {
    const certificate = makeCertificate(ground.folder)
    const site = await startSite(ground, { agents: ground.scale * waysIn, aside: true })
    const wire = await startWire(ground)
    const ways = [
      ours(site, 'svc'),
      ours(site, 'mqtt'),
      ours(site, 'mqtt-ws'),
      ours(site, 'svc', certificate),
    ]
    const peers = [ws(ground), mosquitto(ground, 'mqtt-ws'), aedes(ground), ws(ground, certificate)]
    const sides = [...ways, ...peers].filter((side) => side !== undefined)
    const measureSide = async (side: Side, round: number) => {
      ground.progress(`round ${round} of ${ground.rounds}: ${side.name}`)
      const server = await side.start()
      // A device has one connection, so no two of our gateways may have the same ones.
      const from = Math.max(0, ways.indexOf(side)) * ground.scale
      const agents = site.agents.slice(from, from + ground.scale)
      const measuring = measureServer(wire, server, agents)
      ground.saw(side.name, round, ...(await measuring.catch(failedAt(side, server))))
      await server.stop()
    }
    const together = ground.quick && sides.length * ground.scale <= maxTogether
    for (let round = 1; round <= ground.rounds; round++)
      if (together) await Promise.all(sides.map((side) => measureSide(side, round)))
      else for (const side of sides) await measureSide(side, round)
  },
}

async function measureServer(
  wire: Wire,
  server: Server,
  agents: readonly Identity[],
): Promise<[seen: Record<string, number>, clientBusy: number]> {
  const { kind, port, tls, answers } = server
  const clients = await wire.clients({ kind, port, tls, perSecond: connectionsPerSecond(agents.length) })
  const few = Math.min(fewAtMost, Math.ceil(agents.length / fewShare))
  const seenAt = async (connections: number) => ({ connections, bytes: await settledPss(server) })
  const beats = { perSecond: beatsPerSecond, count: agents.length, answered: answers }
  await clients.connect(agents.slice(0, few))
  // The same work before both looks: what the process grew for it is its own, not the connections'.
  await clients.beat(beats)
  const least = await seenAt(few)
  await clients.connect(agents.slice(few))
  await clients.beat(beats)
  const busy = wire.watch()
  const most = await seenAt(agents.length)
  const seen = { [measure]: perConnection(least, most) }
  const clientBusy = busy()
  await clients.close()
  return [seen, clientBusy]
}
