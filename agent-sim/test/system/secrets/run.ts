import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { Redis } from 'ioredis'
import type { FleetProcess } from '../../proofs/fleets.ts'
import { databaseIsGone, lastRequests, misconfigured, othersRefuse, redisRefuses } from './acts/breakdowns.ts'
import type { Person } from './acts/login.ts'
import { agentsWork, enrolls, isTurnedAway, usesApiKeys } from './acts/machines.ts'
import { adminLogsIn, foundsPartner, isInvited, refreshes, registersAndForgets } from './acts/people.ts'
import { isRefused, knocksAtGateways, talksNonsense } from './acts/refusals.ts'
import { logsInBySso } from './acts/sso.ts'
import type { Canary, Digits } from './canaries.ts'
import type { Piece } from './search.ts'
import { commandLines, databasePieces, filesIn, redisPieces, textPiece } from './sinks.ts'
import { type Stage, startStage } from './stage.ts'

/** What the product left behind, by where. */
export interface Left {
  stage: Stage
  fleet: FleetProcess
  /** name → pieces */
  sinks: Record<SinkName, Piece[]>
  /** the same places, after each secret was put there */
  planted: { database: Piece[]; redis: Piece[]; files: Piece[] }
  /** seconds that codes of six digits which were not used have left */
  codesLive: number[]
  /** what the API logs without the guard `errors_cut_down` when Redis refuses its password */
  unguardedLog: string
}

export const sinkNames = [
  'database',
  'log of the database',
  'Redis',
  'what was said to Redis',
  'logs of programs',
  'metrics',
  'documents and lists',
  'refusals',
  'files of agents',
  'command lines',
  'complaints about configurations',
] as const
export type SinkName = (typeof sinkNames)[number]

/** Uses a secret of each kind, in every way, and gathers what is left. */
export async function useEverything(): Promise<Left> {
  const stage = await startStage()
  try {
    return await play(stage)
  } catch (error) {
    await stage.close()
    throw error
  }
}

async function play(stage: Stage): Promise<Left> {
  const { system } = stage
  const admin = await refreshes(stage, await adminLogsIn(stage))
  const ports = portsOf(stage)
  const [fleet, apiKey, invited] = await Promise.all([
    agentsWork(stage, admin),
    usesApiKeys(stage, admin),
    isInvited(stage, admin),
    registersAndForgets(stage),
    foundsPartner(stage),
    enrolls(stage, admin).then((token) => isTurnedAway(stage, admin, token)),
    knocksAtGateways(stage),
    talksNonsense(stage, ports),
    logsInBySso(stage, admin),
  ])
  await isRefused(stage, admin)
  await othersRefuse(stage, admin, invited)
  const readings = await readEverything(stage, admin, apiKey, ports)
  const configurations = misconfigured(stage).map(({ variable, said }) => textPiece(variable, said))
  const pids = {
    API: system.api.pid,
    worker: system.worker.pid,
    gateway: system.gateway(0).pid,
    agents: fleet.program.pid,
  }
  const startedAs = commandLines(pids)
  const said = stage.redisSaid.pieces()
  stage.redisSaid.close()
  const [rows, keys] = [await databasePieces(system.sql), await redisPieces(system.redis.url)]
  const codes = await system.sql<{ left: number }[]>`
    select extract(epoch from expires_at - now())::float8 as left from phone_codes`
  const files = filesIn(fleet.folder)
  const lives = [textPiece('API', system.api.log())]

  const unguardedLog = await redisRefuses(stage, 'errors_cut_down')
  await redisRefuses(stage)
  const requests = lastRequests(stage, admin)
  const planted = await plant(stage, fleet)
  await databaseIsGone(stage, requests)
  const logs = [
    ...lives,
    textPiece('API in its last life', system.api.log()),
    textPiece('worker', system.worker.log()),
    textPiece('gateway', system.gateway(0).log()),
    textPiece('agents', fleet.program.log()),
    textPiece('Redis', stage.redisLog.join('\n')),
  ]
  return {
    stage,
    fleet,
    planted,
    unguardedLog,
    codesLive: codes.map(({ left }) => left),
    sinks: {
      database: rows,
      'log of the database': [textPiece('PostgreSQL', stage.database.log.join('\n'))],
      Redis: keys,
      'what was said to Redis': said,
      'logs of programs': logs,
      metrics: readings.metrics,
      'documents and lists': readings.documents,
      refusals: stage.client.refusals.map(({ asked, answer }) => textPiece(asked, answer)),
      'files of agents': files,
      'command lines': startedAs,
      'complaints about configurations': configurations,
    },
  }
}

const portIn = (log: string, field: string) =>
  Number(new RegExp(`"${field}":"[^"]*:(\\d+)[^"]*"`).exec(log)?.[1])

/** Every port on which a program of the product speaks HTTP. */
const portsOf = ({ system }: Stage): Record<string, number> => ({
  API: portIn(system.api.log(), 'apiUrl'),
  internal: portIn(system.api.log(), 'internalUrl'),
  'metrics of the API': portIn(system.api.log(), 'metricsUrl'),
  'metrics of the worker': portIn(system.worker.log(), 'metricsUrl'),
  'metrics of the gateway': portIn(system.gateway(0).log(), 'metrics'),
  gateway: Number(new URL(system.gatewayUrls[0] ?? '').port),
})

interface Document {
  paths: Record<string, Record<string, unknown>>
}

/** The document, and each list and view that it says can be read without knowing an id; metrics of every program. */
async function readEverything(stage: Stage, admin: Person, apiKey: string, ports: Record<string, number>) {
  const { client, system } = stage
  const text = async (url: string, headers: Record<string, string> = {}) =>
    textPiece(new URL(url).pathname, await (await fetch(url, { headers })).text())
  const { json } = await client.want(200, 'GET', '/openapi.json')
  const paths = Object.entries((json as unknown as Document).paths)
    .filter(([path, methods]) => 'get' in methods && !path.includes('{'))
    .map(([path]) => path)
  const documents = await Promise.all([
    text(`${system.apiUrl}/api/v1/openapi.json`),
    text(`${system.apiUrl}/docs`),
    text(`${system.apiUrl}/health/ready`),
    ...paths.map((path) => text(`${system.apiUrl}/api/v1${path}`, admin.bearer)),
    text(`${system.apiUrl}/api/v1/devices`, { 'x-api-key': apiKey }),
  ])
  const metrics = await Promise.all(
    Object.entries(ports)
      .filter(([name]) => name.startsWith('metrics'))
      .map(async ([name, port]) => ({ ...(await text(`http://127.0.0.1:${port}/metrics`)), where: name })),
  )
  return { documents, metrics }
}

const nameOf = ({ kind, what }: Canary) => `${kind}, ${what}`

/** Puts every secret into a row, a key and a file of its own, as something that forgets itself would. */
async function plant({ system, database, canaries }: Stage, fleet: FleetProcess): Promise<Left['planted']> {
  const { all, digits } = canaries
  const texts = [
    ...all.map((canary) => [nameOf(canary), canary.secret.toString('latin1')] as const),
    ...digits.map(({ kind, code }: Digits) => [`${kind}, six digits`, code] as const),
  ]
  const sql = postgres(database.url(), { max: 1, onnotice: () => undefined })
  await sql`set log_statement = 'none'`
  await sql`create table public.planted (name text, bytes bytea)`
  const redis = new Redis(system.redis.url)
  const folder = join(fleet.folder, 'planted')
  mkdirSync(folder)
  for (const [at, [name, text]] of texts.entries()) {
    await sql`insert into public.planted values (${name}, ${Buffer.from(text, 'latin1')})`
    await redis.xadd('planted', '*', name, Buffer.from(text, 'latin1'))
    writeFileSync(join(folder, String(at)), Buffer.from(text, 'latin1'))
  }
  const left = {
    database: (await databasePieces(sql)).filter(({ where }) => where === 'public.planted'),
    redis: (await redisPieces(system.redis.url)).filter(({ where }) => where === 'planted'),
    files: filesIn(folder),
  }
  redis.disconnect()
  await sql.end()
  return left
}
