import type { Bench, Ground } from '../method/contract.ts'
import { perConnection, type Rest, rests, settledPss } from '../method/memory.ts'
import type { Identity } from '../wire/connection.ts'
import { type Clients, startWire, type Wire } from '../wire/wire.ts'
import { makeCertificate } from './certificate.ts'
import { figures, measure } from './memory-figures.ts'
import { meshcentral } from './meshcentral.ts'
import { connectionsPerSecond } from './pace.ts'
import { aedes, failedAt, mosquitto, ours, type Server, type Side, ws } from './sides.ts'
import { type Site, startSite } from './site.ts'

/** Connections at the lower end, which take the process's own memory out: decisions, 6. */
const fewAtMost = 2_000
const fewShare = 10
/** Connections up to which a quick run measures all sides at once. */
const maxTogether = 16_000
/** Of the load clients: handshakes that starve the control plane would make the gateway refuse whom it cannot ask about. */
const niceness = 10
/** over WebSocket, MQTT, both, and TLS */
const waysIn = 4
/** heartbeats per second: each device says something, so that its session has all that it ever has */
const beatsPerSecond = 5_000

/** What a connection that does nothing holds in its server. Each side and round is a process of its own: a used one has memory to spare. */
export const memory: Bench = {
  name: 'edge',
  title: 'Memory of an idle connection with a full session',
  measures: [{ name: measure, unit: 'bytes', digits: 0 }],
  figures,
  run: async (ground) => {
    const site = await startSite(ground, { agents: ground.scale * waysIn, aside: true })
    const groups = await groupsOf(ground, site)
    const sides = groups.flat()
    const together = ground.quick && sides.length * ground.scale <= maxTogether
    // One process may not hold all the connections of two sides.
    const most = Math.max(...groups.map(({ length }) => length))
    const wires = await Promise.all(Array.from({ length: most }, () => startWire(ground, niceness)))
    const wireOf = (n: number) => wires[n % most] as Wire
    for (let round = 1; round <= ground.rounds; round++)
      for (const some of together ? [sides] : groups) {
        ground.progress(`round ${round} of ${ground.rounds}: ${some.map(({ side }) => side.name).join(', ')}`)
        const opened = await Promise.all(some.map((one, n) => open(one, wireOf(n), some.length)))
        const rest = rests[ground.quick ? 'quick' : 'full']
        const measured = await measureTogether(opened, wireOf(0), rest)
        for (const { name, bytes, clientBusy } of measured)
          ground.saw(name, round, { [measure]: bytes }, clientBusy)
        await Promise.all(opened.map(({ server }) => server.stop()))
      }
  },
}

interface Taking {
  side: Side
  /** the devices of the site that connect to it */
  devices: readonly Identity[]
}

/**
 * Who takes part, in groups that are measured at once: memory does not mind the company, and most of the time is waiting until it
 * rests. A device has one connection, so each of our ways in has its own.
 */
async function groupsOf(ground: Ground, site: Site): Promise<Taking[][]> {
  const certificate = makeCertificate(ground.folder)
  const devices = (way: number) => site.agents.slice(way * ground.scale, (way + 1) * ground.scale)
  const group = (...some: [side: Side | undefined, way: number][]): Taking[] =>
    some.flatMap(([side, way]) => (side ? { side, devices: devices(way) } : []))
  return [
    group(
      [ours(site, 'svc'), 0],
      [ws(ground), 0],
      [ours(site, 'svc', certificate), 1],
      [ws(ground, certificate), 1],
      [await meshcentral(ground), 0],
    ),
    group(
      [ours(site, 'mqtt'), 2],
      [aedes(ground), 2],
      [ours(site, 'mqtt-ws'), 3],
      [mosquitto(ground, 'mqtt-ws'), 3],
    ),
  ]
}

/** A side whose server is up, and who will connect to it: a few before the first look, all before the second. */
interface Opened {
  side: Side
  server: Server
  agents: readonly Identity[]
  few: number
  clients: Clients
}

async function open({ side, devices }: Taking, wire: Wire, together: number): Promise<Opened> {
  const server = await side.start()
  const { kind, port, tls, agents = devices } = server
  const clients = await wire.clients({
    kind,
    port,
    tls,
    perSecond: connectionsPerSecond(agents.length, { tls, together }),
  })
  return { side, server, agents, few: Math.min(fewAtMost, Math.ceil(agents.length / fewShare)), clients }
}

async function grow({ clients, agents, server }: Opened, from: number, to: number): Promise<void> {
  await clients.connect(agents.slice(from, to))
  // The same work before both looks: what the process grew for it is its own, not the connections'.
  await clients.beat({ perSecond: beatsPerSecond, count: agents.length, answered: server.answers })
}

/** Sides in step: what programs share counts for each in proportion, so no process may come or go between the two looks. */
async function measureTogether(opened: readonly Opened[], wire: Wire, rest: Rest) {
  const each = <R>(step: (one: Opened) => Promise<R>) =>
    Promise.all(opened.map((one) => step(one).catch(failedAt(one.side, one.server))))
  await each((one) => grow(one, 0, one.few))
  const least = await each(({ server }) => settledPss(server, rest))
  await each((one) => grow(one, one.few, one.agents.length))
  // What the connecting left to do behind the gateways is no load on them: the clock of the client's core starts after it.
  await wire.rest()
  const busy = wire.watch()
  const most = await each(({ server }) => settledPss(server, rest))
  const clientBusy = busy()
  await each(({ clients }) => clients.close())
  return opened.map(({ side: { name }, agents, few }, n) => {
    const [first, second] = [least[n] ?? Number.NaN, most[n] ?? Number.NaN]
    const [at, then] = [
      { connections: few, bytes: first },
      { connections: agents.length, bytes: second },
    ]
    return { name, clientBusy, bytes: perConnection(at, then) }
  })
}
