import { deepStrictEqual } from 'node:assert'
import { createRequire } from 'node:module'
import type { Bench, Ground } from '../method/contract.ts'
import { Client } from './load/client.ts'
import { openLoad } from './load/open-loop.ts'
import { percentile } from './load/percentile.ts'
import { type Length, saturate } from './load/saturate.ts'
import { during } from './load/window.ts'
import { figures, measures } from './api-figures.ts'
import { findPgbench, runPgbench } from './peers/pgbench.ts'
import { type PeerServer, startPeer } from './peers/program.ts'
import { createScript } from './peers/scripts.ts'
import { deviceId } from './stage/devices.ts'
import { loopDelay } from './stage/loop-delay.ts'
import { openStage, settingsText, type Stage } from './stage/stage.ts'

/** Connections of the load: more than the pools have, so that no server ever waits for its client. */
const loadConnections = 24
/** Of each pool: the product's default. */
const databaseConnections = 10
/** Different devices that a load asks for, one after the other. */
const variety = 500
const ofSaturation = 0.7

interface Times {
  warmUp: Length
  load: Length
  /** at 70 % */
  calmSeconds: number
}

/** One server among those that are compared. */
interface Side {
  name: string
  pid: number
  url: string
  headers: () => Promise<Record<string, string>>
}

interface Scene {
  ground: Ground
  stage: Stage
  times: Times
  paths: readonly string[]
}

/** `GET /devices/:id` and `POST /devices/:id/commands` at as many as one core serves, database included, and the event loop at 70 % of that. */
export const apiOn = (open: typeof openStage): Bench => ({
  name: 'api',
  title: 'API: one device read, one command created',
  measures,
  figures,
  run: (ground) => run(ground, open),
})

export const api: Bench = apiOn(openStage)

/** Warm is who has answered often, however long that took. A quick run asks once for each of its devices. */
function timesOf({ quick, scale }: Ground): Times {
  const once = { count: Math.max(loadConnections, scale) }
  return quick
    ? { warmUp: once, load: once, calmSeconds: Math.min(1, scale / 1_000) }
    : { warmUp: { count: 4_000 }, load: { seconds: 8 }, calmSeconds: 8 }
}

async function run(ground: Ground, open: typeof openStage): Promise<void> {
  const times = timesOf(ground)
  const stage = await open(ground, { count: ground.scale, tenants: 1, details: true })
  ground.progress('starting the API and its peers')
  const program = await stage.startControlPlane('api')
  const caller = await stage.caller()
  const [fastify, http] = [
    await startPeer(ground, stage, 'fastify', databaseConnections),
    await startPeer(ground, stage, 'http', databaseConnections),
  ]
  const { version } = createRequire(import.meta.url)('fastify/package.json') as { version: string }
  describePeers(ground, version)
  const ours = { name: 'ours', pid: program.pid, url: stage.apiUrl, headers: () => caller.headers() }
  const bare = (name: string, { pid, url }: PeerServer): Side => ({
    name,
    pid,
    url,
    headers: async () => ({}),
  })
  const readers = [ours, bare('fastify', fastify), bare('http', http)]
  const writers = readers.slice(0, 2)
  const count = Math.min(variety, ground.scale)
  const paths = Array.from({ length: count }, (_, at) => `/api/v1/devices/${deviceId(at + 1)}`)
  const scene = { ground, stage, times, paths }

  await requireAlike(readers, paths)
  for (const side of readers) await read(scene, side, times.warmUp)
  for (const side of writers) await write(scene, side, times.warmUp)
  for (let round = 1; round <= ground.rounds; round++) await oneRound(scene, round, readers, writers)
}

/** Side after side, each with all that it does, so that every side meets the same machine. */
async function oneRound(
  scene: Scene,
  round: number,
  readers: readonly Side[],
  writers: readonly Side[],
): Promise<void> {
  const { ground, times } = scene
  for (const side of readers) {
    ground.progress(`round ${round}: reads, ${side.name}`)
    const reads = await read(scene, side, times.load)
    const calm = side.name === 'ours' ? await at70(scene, side, reads.rate) : {}
    if (writers.includes(side)) ground.progress(`round ${round}: creates, ${side.name}`)
    const creates = writers.includes(side) ? await write(scene, side, times.load) : undefined
    const clientBusy = Math.max(reads.clientBusy, creates?.clientBusy ?? 0)
    ground.saw(side.name, round, { ...reads.figures, ...calm, ...creates?.figures }, clientBusy)
  }
  const floor = await bench(scene, round)
  if (floor) ground.saw('pgbench', round, floor.figures, floor.clientBusy)
}

/** Every side must do the same work: for the same device they answer the same. */
async function requireAlike(sides: readonly Side[], paths: readonly string[]): Promise<void> {
  const answers: unknown[] = []
  for (const side of sides) {
    const client = new Client(side.url, await side.headers())
    answers.push(await client.json(200, 'GET', paths.at(-1) ?? ''))
    client.close()
  }
  for (const other of answers.slice(1)) deepStrictEqual(other, answers[0], 'the sides answer differently')
}

async function read({ stage, paths }: Scene, side: Side, length: Length) {
  const load = {
    url: side.url,
    headers: await side.headers(),
    requests: paths.map((path) => ({ method: 'GET' as const, path })),
    connections: loadConnections,
    length,
    status: 200,
  }
  const window = await during({ server: side.pid, database: stage.postgres.pid }, () => saturate(load))
  return { rate: window.value / window.seconds, ...summary('read', window.value, window) }
}

async function write({ stage, paths }: Scene, side: Side, length: Length) {
  await emptyWork(stage)
  const body = JSON.stringify({ type: 'list_processes', payload: { limit: 10 } })
  const load = {
    url: side.url,
    headers: { ...(await side.headers()), 'content-type': 'application/json' },
    requests: paths.map((path) => ({ method: 'POST' as const, path: `${path}/commands`, body })),
    connections: loadConnections,
    length,
    status: 201,
  }
  const window = await during({ server: side.pid, database: stage.postgres.pid }, () => saturate(load))
  await requireWork(stage, window.value)
  return summary('create', window.value, window)
}

/** The transaction alone: no server, no language, one round trip per statement. */
async function bench({ ground, stage, times }: Scene, round: number) {
  const found = findPgbench()
  if (!found) return undefined
  ground.progress(`round ${round}: creates, pgbench`)
  await emptyWork(stage)
  const once = (length: Length) =>
    runPgbench({
      ...found,
      databaseUrl: stage.databaseUrl,
      folder: ground.folder,
      scripts: [createScript(stage.place, Math.min(variety, ground.scale))],
      clients: databaseConnections,
      length,
    })
  if (round === 1) await once(times.warmUp)
  await emptyWork(stage)
  const window = await during({ database: stage.postgres.pid }, () => once(times.load))
  await requireWork(stage, window.value.length)
  return summary('create', window.value.length, window)
}

type Usage = { seconds: number; cpu: Record<string, number>; clientBusy: number }

function summary(what: 'read' | 'create', count: number, { seconds, cpu, clientBusy }: Usage) {
  const { server = 0, database = 0 } = cpu
  const figures = {
    [`${what}: server`]: server / count,
    [`${what}: Postgres`]: database / count,
    [`${what}s per CPU second`]: (count * 1e6) / (server + database),
    [`${what}s per second`]: count / seconds,
  }
  return { figures, clientBusy }
}

/** Every phase begins with the same tables. */
async function emptyWork({ sql }: Stage): Promise<void> {
  await sql`truncate commands, outbox, audit_log`
}

/** All of them did the whole transaction: what was answered is there, with its event and its audit row. What was under way at the end may be, too. */
async function requireWork({ sql }: Stage, answered: number): Promise<void> {
  const [row] = await sql<{ commands: number; events: number; audits: number }[]>`
    select (select count(*)::int from commands) as commands, (select count(*)::int from outbox) as events,
      (select count(*)::int from audit_log where action = 'device.command.send') as audits`
  const { commands, events, audits } = row ?? { commands: 0, events: 0, audits: 0 }
  if (commands < answered || events < answered || audits < answered)
    throw new Error(
      `${answered} were answered: there are ${commands} commands, ${events} events, ${audits} audit rows`,
    )
}

/** How late the event loop is, and answers are, at 70 % of what the server takes, at times fixed before. */
async function at70({ ground, stage, times, paths }: Scene, side: Side, rate: number) {
  ground.progress(`reads at ${Math.round(ofSaturation * rate)} a second`)
  const client = new Client(side.url, await side.headers())
  try {
    const ask = (number: number) => client.ask(200, 'GET', paths[number % paths.length] ?? '')
    await loopDelay(stage.metricsUrl) // begins anew
    const took = await openLoad({ perSecond: ofSaturation * rate, seconds: times.calmSeconds, ask })
    const delay = await loopDelay(stage.metricsUrl)
    return {
      'loop delay p99 at 70 %': delay.p99,
      'loop delay max at 70 %': delay.max,
      'read p50 at 70 %': percentile(took, 0.5),
      'read p99 at 70 %': percentile(took, 0.99),
    }
  } finally {
    client.close()
  }
}

function describePeers(ground: Ground, version: string) {
  const database = `${databaseConnections} connections, prepared statements, as the superuser (no policy applies); Postgres of its own for all sides: ${settingsText}`
  ground.peer({
    name: 'fastify',
    version: `fastify ${version}, node ${process.version}`,
    configuration: `the same statements without scope; no authentication, validation, schema or extra header; NODE_ENV=production; ${database}`,
  })
  ground.peer({
    name: 'http',
    version: `node ${process.version}`,
    configuration: `node:http, the same statements without scope; ${database}`,
  })
  const found = findPgbench()
  const configuration = `the statements of POST …/commands in one transaction, -M prepared, a round trip each; ${database}`
  ground.peer(
    found
      ? { name: 'pgbench', version: found.version, configuration }
      : { name: 'pgbench', configuration, skipped: 'there is no pgbench on PATH or in /usr/lib/postgresql' },
  )
}
