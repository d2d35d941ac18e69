import { until } from '../../../agent-sim/test/system/harness/until.ts'
import { openPool } from '../../../control-plane/src/adapters/postgres.ts'
import type { Bench, Ground } from '../method/contract.ts'
import { openLoad } from './load/open-loop.ts'
import { median, percentile } from './load/percentile.ts'
import { during } from './load/window.ts'
import { figures, measures } from './seal/figures.ts'
import { entryOf } from './seal/entry.ts'
import { openStage, type Stage } from './stage/stage.ts'

/** A write of the audit log while the worker seals, and while it does not. */
export const seal: Bench = { name: 'seal', title: 'API: sealing the audit log', measures, figures, run }

/** Writes at once at the most: as many as the API has connections. */
const connections = 10
/** Of which each has a chain of its own. */
const partners = 20
const drainMs = 60_000

/** How often the worker looks for rows to seal; one of the two sides never does while it is watched. */
const sides = [
  { side: 'ours:sealing', everyMs: 1_000 },
  { side: 'ours:resting', everyMs: 86_400_000 },
] as const

async function run(ground: Ground): Promise<void> {
  const seconds = ground.quick ? 2 : 20
  const stage = await openStage(ground, { count: 100, tenants: 1, details: false })
  const chains = Array.from({ length: partners }, () => crypto.randomUUID())
  const pool = openPool({ url: stage.databaseUrl, role: 'svc_app', max: connections, name: 'bench' })
  ground.afterwards(() => pool.end({ timeout: 5 }))
  const write = (number: number) =>
    pool`select svc.write_audit(${JSON.stringify(entryOf(chains, number))}::text::jsonb)`
  for (let round = 0; round <= ground.rounds; round++)
    for (const { side, everyMs } of sides) {
      ground.progress(`round ${round}: ${side}`)
      const worker = await stage.startControlPlane('worker', { AUDIT_SEAL_MS: String(everyMs) })
      // What the resting side left has to be gone: a round pays for its own rows alone.
      if (side === 'ours:sealing')
        await until('all rows are sealed', async () => (await waiting(stage)) === 0, drainMs)
      const servers = { worker: worker.pid, database: stage.postgres.pid }
      const { value, cpu, clientBusy } = await during(servers, () =>
        openLoad({ perSecond: ground.scale, seconds, ask: write }),
      )
      const left = await waiting(stage)
      await worker.stop()
      // The first one warms up, and does not count.
      if (round === 0) continue
      ground.saw(side, round, { ...shape(value), ...spent(cpu, value.length), 'rows left': left }, clientBusy)
    }
}

const shape = (took: readonly number[]) => ({
  'write p50': median(took),
  'write p99': percentile(took, 0.99),
  'write max': percentile(took, 1),
})

const spent = (cpu: Readonly<Record<string, number>>, rows: number) => ({
  'Postgres per row': (cpu['database'] ?? 0) / rows,
  'worker per row': (cpu['worker'] ?? 0) / rows,
})

async function waiting({ sql }: Stage): Promise<number> {
  const [row] = await sql<{ rows: number }[]>`select count(*)::float8 as rows from audit_unsealed`
  return row?.rows ?? 0
}
