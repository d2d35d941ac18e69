import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench, Ground } from '../method/contract.ts'
import { figures, measures } from './list/figures.ts'
import { type Direction, pageSize, type Sort, sortNames, sorts } from './list/sorts.ts'
import { pageStatement, type PageOf } from './list/statement.ts'
import { type Deep, walkTo } from './list/walk.ts'
import { Client } from './load/client.ts'
import { openLoad } from './load/open-loop.ts'
import { median, percentile } from './load/percentile.ts'
import { during } from './load/window.ts'
import { findPgbench, runPgbench } from './peers/pgbench.ts'
import type { Caller } from './stage/caller.ts'
import { openStage, settingsText, type Stage } from './stage/stage.ts'

const perSecond = 200
/** To come to a deep page takes a request for each thousand rows before it. */
const deepest = { full: 10_000, quick: 100 }
/** A tenant has some pages at least, whatever the scale. */
const leastOwned = 4 * pageSize
const databaseConnections = 10
const layouts = [
  { name: 'one', tenants: 1 },
  { name: 'many', tenants: 1_000 },
] as const

/** A page that is asked for: as the API is asked, and as the database is. */
interface Asked {
  path: string
  statement: string
  deep: boolean
}

/** One table of devices, and the product on it. */
interface Table {
  name: string
  stage: Stage
  apiPid: number
  caller: Caller
  pages: readonly Asked[]
}

/** `GET /devices` over as many rows as scale says, all of one tenant's, and of 1,000 tenants'. */
export const list: Bench = {
  name: 'list',
  title: 'API: the device list',
  measures,
  figures,
  run,
}

async function run(ground: Ground): Promise<void> {
  const seconds = ground.quick ? 2 : 10
  const tables: Table[] = []
  for (const layout of layouts) tables.push(await openTable(ground, layout))
  const pgbench = findPgbench()
  const configuration = `the statement of the page without scope, -M prepared, ${databaseConnections} clients, --rate=${perSecond}; as the superuser (no policy applies); ${settingsText}`
  ground.peer({
    name: 'pgbench',
    configuration,
    ...(pgbench
      ? { version: pgbench.version }
      : { skipped: 'there is no pgbench on PATH or in /usr/lib/postgresql' }),
  })
  for (const table of tables) {
    ground.progress(`warming up: ${table.name}`)
    await listed(table, Math.ceil(seconds / 2))
    if (pgbench) await bare(ground, table, pgbench.command, Math.ceil(seconds / 2))
  }
  for (let round = 1; round <= ground.rounds; round++) {
    for (const table of tables) await oneRound(ground, table, round, seconds, pgbench?.command)
  }
}

async function oneRound(
  ground: Ground,
  table: Table,
  round: number,
  seconds: number,
  pgbench: string | undefined,
): Promise<void> {
  ground.progress(`round ${round}: ${perSecond} a second, ${table.name}`)
  const ours = await listed(table, seconds)
  ground.saw(`ours:${table.name}`, round, ours.seen, ours.clientBusy)
  if (pgbench !== undefined) {
    const peer = await bare(ground, table, pgbench, seconds)
    ground.saw(`pgbench:${table.name}`, round, peer.seen, peer.clientBusy)
  }
  if (table.name !== 'one') return
  ground.progress(`round ${round}: first and deep pages`)
  for (const [side, deep] of [
    ['ours:one:first', false],
    ['ours:one:deep', true],
  ] as const) {
    const pages = table.pages.filter((page) => page.deep === deep)
    const one = await oneByOne(table, pages, ground.quick ? 60 : 600)
    ground.saw(side, round, one.seen, one.clientBusy)
  }
}

async function openTable(
  ground: Ground,
  { name, tenants: wanted }: { name: string; tenants: number },
): Promise<Table> {
  const tenants = Math.max(1, Math.min(wanted, Math.floor(ground.scale / leastOwned)))
  const stage = await openStage(ground, { count: ground.scale, tenants, details: false }, name)
  ground.progress(`starting the API: ${name}`)
  const { pid } = await stage.startControlPlane('api')
  const caller = await stage.caller()
  const own = Math.floor(ground.scale / tenants)
  const deepPage = Math.min(ground.quick ? deepest.quick : deepest.full, Math.floor(own / pageSize) - 1)
  const client = new Client(stage.apiUrl, await caller.headers())
  const pages: Asked[] = []
  try {
    for (const sort of sortNames) {
      ground.progress(`going to page ${deepPage} by ${sort}: ${name}`)
      const deep = await walkTo(client, stage, sort, deepPage)
      pages.push(...pagesOf(stage, sort, deep))
    }
    await requireAlike(client, stage, pages)
  } finally {
    client.close()
  }
  return { name, stage, apiPid: pid, caller, pages }
}

/** The first page both ways, and the deep one. */
function pagesOf({ place: { partnerId } }: Stage, sort: Sort, { cursor, after }: Deep): Asked[] {
  const asked = (dir: Direction, more: Partial<PageOf> & { cursor?: string }): Asked => ({
    path: `/api/v1/devices?sort=${sort}&sortDir=${dir}${more.cursor === undefined ? '' : `&cursor=${encodeURIComponent(more.cursor)}`}`,
    statement: pageStatement({ partnerId, sort, dir, after: more.after }),
    deep: more.after !== undefined,
  })
  const { dir } = sorts[sort]
  return [asked(dir, {}), asked(dir === 'asc' ? 'desc' : 'asc', {}), asked(dir, { cursor, after })]
}

/** Both must be asked the same: each page has the same devices in the same order. */
async function requireAlike(client: Client, { sql }: Stage, pages: readonly Asked[]): Promise<void> {
  for (const { path, statement } of pages) {
    const { devices } = await client.json<{ devices: { id: string }[] }>(200, 'GET', path)
    const rows = await sql.unsafe<{ id: string }[]>(statement)
    const [ours, theirs] = [devices, rows.slice(0, pageSize)].map((some) => some.map(({ id }) => id).join())
    if (devices.length !== pageSize || ours !== theirs)
      throw new Error(`${path} shows other devices than its statement`)
  }
}

type Seen = { seen: Record<string, number>; clientBusy: number }

/** Pages of all kinds in turn, at fixed times. */
async function listed(table: Table, seconds: number): Promise<Seen> {
  const { stage, apiPid, caller, pages } = table
  const client = new Client(stage.apiUrl, await caller.headers())
  try {
    const ask = (number: number) => client.ask(200, 'GET', pages[number % pages.length]?.path ?? '')
    const servers = { server: apiPid, database: stage.postgres.pid }
    const { value, cpu, clientBusy } = await during(servers, () => openLoad({ perSecond, seconds, ask }))
    return { seen: figuresOf(value, cpu), clientBusy }
  } finally {
    client.close()
  }
}

async function bare(
  ground: Ground,
  { stage, pages }: Table,
  command: string,
  seconds: number,
): Promise<Seen> {
  const folder = join(ground.folder, 'pgbench')
  mkdirSync(folder, { recursive: true })
  const { value, cpu, clientBusy } = await during({ database: stage.postgres.pid }, () =>
    runPgbench({
      command,
      databaseUrl: stage.databaseUrl,
      folder,
      scripts: pages.map(({ statement }) => `${statement};\n`),
      clients: databaseConnections,
      length: { seconds },
      rate: perSecond,
    }),
  )
  return { seen: figuresOf(value, cpu), clientBusy }
}

function figuresOf(took: readonly number[], { server = 0, database = 0 }: Record<string, number>) {
  return {
    'list p50': median(took),
    'list p99': percentile(took, 0.99),
    'list max': percentile(took, 1),
    page: (server + database) / took.length,
    'page: Postgres': database / took.length,
  }
}

/** One page after the other, each when the last has come. */
async function oneByOne(table: Table, pages: readonly Asked[], count: number): Promise<Seen> {
  const { stage, apiPid, caller } = table
  const client = new Client(stage.apiUrl, await caller.headers())
  const took: number[] = []
  const work = async () => {
    for (let number = 0; number < count; number++) {
      const began = performance.now()
      await client.ask(200, 'GET', pages[number % pages.length]?.path ?? '')
      took.push(performance.now() - began)
    }
  }
  try {
    const { cpu, clientBusy } = await during({ server: apiPid, database: stage.postgres.pid }, work)
    const used = Object.values(cpu).reduce((sum, one) => sum + one, 0)
    return { seen: { 'one page p50': median(took), 'one page': used / count }, clientBusy }
  } finally {
    client.close()
  }
}
