import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench, Ground } from '../method/contract.ts'
import { fillLog } from './audit/fill.ts'
import { figures, measures } from './audit/figures.ts'
import { figurePaths, type Group, groups, newestStatement, pathOf, questions } from './audit/questions.ts'
import { Client } from './load/client.ts'
import { median, percentile } from './load/percentile.ts'
import { during } from './load/window.ts'
import { findPgbench, runPgbench } from './peers/pgbench.ts'
import { openStage, settingsText, type Stage } from './stage/stage.ts'

/** The audit log of one partner: pages by all kinds of filters, searches, figures. */
export const audit: Bench = { name: 'audit', title: 'API: the audit log', measures, figures, run }

const dayMs = 86_400_000

async function run(ground: Ground): Promise<void> {
  const times = ground.quick ? 3 : 100
  const stage = await openStage(ground, { count: 100, tenants: 1, details: false })
  ground.progress(`writing ${ground.scale} rows of the log`)
  await fillLog(stage.sql, stage.place, ground.scale)
  const { pid } = await stage.startControlPlane('api')
  const caller = await stage.caller()
  const servers = { server: pid, database: stage.postgres.pid }
  const pgbench = findPgbench()
  ground.peer({
    name: 'pgbench',
    configuration: `the statement of the newest page without scope, -M prepared, one client; as the superuser (no policy applies); ${settingsText}`,
    ...(pgbench
      ? { version: pgbench.version }
      : { skipped: 'there is no pgbench on PATH or in /usr/lib/postgresql' }),
  })
  for (let round = 0; round <= ground.rounds; round++) {
    // The first one warms up, and does not count.
    const saw: Ground['saw'] = (...seen) => (round === 0 ? undefined : ground.saw(...seen))
    const client = new Client(stage.apiUrl, await caller.headers())
    try {
      for (const group of groups) {
        ground.progress(`round ${round}: ${group}`)
        const { value, clientBusy } = await during(servers, () => pages(ground, client, group, times))
        saw(`ours:${group}`, round, value, clientBusy)
      }
      ground.progress(`round ${round}: figures`)
      const { value, clientBusy } = await during(servers, () => counted(client))
      saw('ours:figures', round, value, clientBusy)
    } finally {
      client.close()
    }
    if (pgbench) saw('pgbench:newest', round, ...(await bare(ground, stage, pgbench.command, times)))
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Each question so often, one after the other. */
async function pages(ground: Ground, client: Client, group: Group, times: number) {
  const all: number[] = []
  let slowest = 0
  for (const question of questions[group]) {
    const took: number[] = []
    for (let number = 0; number < times; number++)
      took.push(await timed(() => client.ask(200, 'GET', pathOf(group, question))))
    all.push(...took)
    slowest = Math.max(slowest, percentile(took, 0.99))
    if (process.env['BENCH_QUESTIONS'])
      ground.progress(
        `${question}: ${median(took).toFixed(1)} ms, p99 ${percentile(took, 0.99).toFixed(1)} ms\n`,
      )
  }
  return { 'page p50': median(all), 'page p99': percentile(all, 0.99), 'slowest question p99': slowest }
}

/** Of the last thirty days, and of the whole year. */
async function counted(client: Client) {
  const year = `from=${new Date(Date.now() - 366 * dayMs + 60_000).toISOString()}`
  const took: number[] = []
  for (const path of figurePaths)
    for (const span of ['', year])
      took.push(await timed(() => client.ask(200, 'GET', `/api/v1/audit/${path}?${span}`)))
  return { 'figures p50': median(took), 'figures max': percentile(took, 1) }
}

async function bare(
  ground: Ground,
  { databaseUrl, postgres, place }: Stage,
  command: string,
  times: number,
): Promise<[Record<string, number>, number]> {
  const folder = join(ground.folder, 'pgbench')
  mkdirSync(folder, { recursive: true })
  const scripts = [`${newestStatement(place.partnerId)};\n`]
  const { value, clientBusy } = await during({ database: postgres.pid }, () =>
    runPgbench({ command, databaseUrl, folder, scripts, clients: 1, length: { count: times * 2 } }),
  )
  return [
    {
      'page p50': median(value),
      'page p99': percentile(value, 0.99),
      'slowest question p99': percentile(value, 0.99),
    },
    clientBusy,
  ]
}
