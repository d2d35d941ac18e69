import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Bench, Ground } from '../method/contract.ts'
import { cpuMicros, cpuMicrosOfTree } from '../method/cpu.ts'
import { type Clients, startWire, type Wire } from '../wire/wire.ts'
import { startServed } from '../wire/calls.ts'
import { stalenessP99, updatesOf, updatesSince, watchStreams } from './committed.ts'
import { type Agent, openDatabase } from './devices.ts'
import { figures, names } from './heartbeat-figures.ts'
import { connectionsPerSecond } from './pace.ts'
import { aedes, failedAt, ours, type Server, type Side } from './sides.ts'
import { type Site, startSite } from './site.ts'

/** Rows per agent that is connected: a gateway holds a small part of the fleet. */
const rowsPerAgent = 50
const mostAgents = 18_800
/** heartbeats per second: a fleet of more than half a million on one gateway's core, far from what it can do */
const mostPerSecond = 9_400
const seconds = { full: 10, quick: 2 }
/** A gateway hands up what it has within a second, at one of its ticks of 250 ms. */
const flushedMs = 1_500

/** One side with its clients connected, by a load client of its own. */
interface Stage {
  side: Side
  server: Server
  wire: Wire
  clients: Clients
  agents: readonly Agent[]
}

/**
 * What a heartbeat costs. `ours` and `aedes` the server alone; `ours` also all that is between agent and committed row, beside a script
 * that runs the same UPDATE and nothing else.
 */
export const heartbeat: Bench = {
  name: 'heartbeat',
  title: 'CPU of a heartbeat',
  measures: [
    { name: names.server, unit: 'CPU-µs', digits: 2 },
    { name: names.all, unit: 'CPU-µs', digits: 1 },
    { name: names.perCore, unit: 'per second', digits: 0 },
    { name: names.staleness, unit: 'ms', digits: 0 },
    { name: names.hot, unit: '%', digits: 1 },
    { name: names.answer, unit: 'ms', digits: 1 },
    { name: names.clientDelay, unit: 'ms', digits: 1 },
  ],
  figures,
  run: async (ground) => {
    const count = Math.max(1, Math.min(mostAgents, Math.floor(ground.scale / rowsPerAgent)))
    // A device has one connection: those over MQTT are others.
    const site = await startSite(ground, { agents: 3 * count, presences: ground.scale, aside: false })
    const sql = openDatabase(site.database.url)
    ground.afterwards(() => sql.end())
    const agents = (part: number) => site.agents.slice(part * count, (part + 1) * count)
    const stages = await Promise.all([
      connect(ground, ours(site, 'svc'), agents(0)),
      connect(ground, aedes(ground), agents(0)),
      connect(ground, ours(site, 'mqtt'), agents(1)),
    ])
    const floor = await startFloor(ground, site, agents(2))
    const committed = watchStreams(ground, site.redis.url)
    const beats = {
      perSecond: Math.min(mostPerSecond, count),
      count: Math.min(mostPerSecond, count) * seconds[ground.quick ? 'quick' : 'full'],
    }
    for (let round = 0; round <= ground.rounds; round++) {
      const show = (what: string) =>
        ground.progress(round === 0 ? `warming up ${what}` : `round ${round} of ${ground.rounds}: ${what}`)
      const keep = (side: string, [seen, clientBusy]: Seen) => {
        if (round > 0) ground.saw(side, round, seen, clientBusy)
      }
      for (const stage of stages) {
        show(stage.side.name)
        const beating = stage.server.node
          ? beatThrough(site, sql, stage, { ...beats, committed })
          : beat(stage, beats)
        keep(stage.side.name, await beating.catch(failedAt(stage.side, stage.server)))
      }
      show('floor')
      keep('floor', await floor(beats.count))
    }
  },
}

type Seen = [seen: Record<string, number>, clientBusy: number]

async function connect(ground: Ground, side: Side, agents: readonly Agent[]): Promise<Stage> {
  const [wire, server] = await Promise.all([startWire(ground), side.start()])
  ground.progress(`connecting ${agents.length} to ${side.name}`)
  const { kind, port, tls } = server
  const clients = await wire.clients({ kind, port, tls, perSecond: connectionsPerSecond(agents.length) })
  await clients.connect(agents).catch(failedAt(side, server))
  return { side, server, wire, clients, agents }
}

interface Beating {
  perSecond: number
  count: number
}

/** The server alone; where nothing is answered, until it has counted them all. */
async function beat({ server, wire, clients }: Stage, { perSecond, count }: Beating): Promise<Seen> {
  const published = async () => Number(await server.call?.('published'))
  const [before, countBefore, busy] = [cpuMicros(server.pid), await published(), wire.watch()]
  const { loop } = await clients.beat({ perSecond, count, answered: false })
  const clientBusy = busy()
  for (const end = performance.now() + 30_000; (await published()) < countBefore + count; await pause(50))
    if (performance.now() > end) throw new Error(`it has not taken ${count} heartbeats`)
  return [
    { [names.server]: (cpuMicros(server.pid) - before) / count, [names.clientDelay]: loop.p99 },
    clientBusy,
  ]
}

/** Through our gateway, until the last row is committed. */
async function beatThrough(
  site: Site,
  sql: Sql,
  { server, wire, clients, agents }: Stage,
  { perSecond, count, committed }: Beating & { committed: () => Promise<void> },
): Promise<Seen> {
  const used = () => ({
    gateway: cpuMicros(server.pid),
    all:
      cpuMicros(server.pid) +
      cpuMicros(site.redis.pid) +
      cpuMicros(site.controlPlane.pid) +
      cpuMicrosOfTree(site.database.pid),
  })
  await committed()
  const updatesBefore = await updatesOf(sql)
  const [since, before, busy] = [new Date(), used(), wire.watch()]
  const { latencies, loop } = await clients.beat({ perSecond, count, answered: true })
  const clientBusy = busy()
  await pause(flushedMs)
  const gateway = cpuMicros(server.pid)
  await committed()
  const all = used().all - before.all
  const ids = agents.map(({ deviceId }) => deviceId)
  const staleness = await stalenessP99(sql, ids, since)
  const updates = await updatesSince(sql, updatesBefore, agents.length)
  const seen = {
    [names.server]: (gateway - before.gateway) / count,
    [names.all]: all / count,
    [names.perCore]: (count / all) * 1_000_000,
    [names.staleness]: staleness,
    [names.hot]: (100 * updates.hot) / updates.all,
    [names.answer]: latencies['p99'] ?? Number.NaN,
    [names.clientDelay]: loop.p99,
  }
  return [seen, clientBusy]
}

/** The script beside which ours is held. */
async function startFloor(
  ground: Ground,
  site: Site,
  agents: readonly Agent[],
): Promise<(count: number) => Promise<Seen>> {
  ground.peer({
    name: 'floor',
    version: process.version,
    configuration:
      "a script with the product's UPDATE over one connection of postgres.js, as superuser, 1,000 rows at a time, each its own transaction; same server: fsync and synchronous_commit on",
  })
  const script = await startServed('floor')
  ground.afterwards(() => script.kill())
  await script.call('open', site.database.url)
  const deviceIds = agents.map(({ deviceId }) => deviceId)
  return async (count) => {
    const used = () => cpuMicros(script.pid) + cpuMicrosOfTree(site.database.pid)
    const before = used()
    const written = Number(await script.call('write', { deviceIds, count }))
    const all = used() - before
    if (written !== count) throw new Error(`the floor wrote ${written} of ${count} rows`)
    return [{ [names.all]: all / count, [names.perCore]: (count / all) * 1_000_000 }, 0]
  }
}
