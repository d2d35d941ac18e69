import { afterAll, describe, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { testApp } from '../harness/app.ts'
import { Asker } from './asker.ts'
import { answerWithinMs, disturbances, statementTimeoutMs } from './disturbances.ts'
import { mix, type Outcome } from './mix.ts'
import { type Plant, plantedPath, plants } from './plants.ts'
import { fillIn } from './readers.ts'
import { reads } from './reads.ts'
import { bareRoutes } from './routes.ts'

/** `ISOLATION_READS=50000` for the long form. */
const long = process.env['ISOLATION_READS']
const count = Number(long ?? 3_000)
const connections = 2

/** A control plane with two connections for its requests, asked over HTTP by readers of many tenants. */
async function site(tenants: number, plant: Plant = {} as Plant) {
  const t = await testApp({
    routes: [...routes, ...bareRoutes],
    env: (databaseUrl) => {
      const url = new URL(databaseUrl)
      url.searchParams.set('statement_timeout', String(statementTimeoutMs))
      if (plant.database) url.searchParams.set('search_path', plantedPath)
      return { DATABASE_POOL: String(connections), DATABASE_APP_URL: url.href }
    },
    kernel: (made) => {
      const shortened = { ...made, answerWithinMs }
      return plant.kernel ? plant.kernel(shortened) : shortened
    },
  })
  const asker = new Asker(await t.app.listen({ host: '127.0.0.1', port: 0 }))
  afterAll(() => asker.close())
  return {
    t,
    run: async (count: number): Promise<Outcome> => {
      const readers = await fillIn(t, tenants)
      if (plant.database) await t.owner.unsafe(plant.database)
      return mix({ readers, pool: t.core.pools.app, owner: t.owner, asker, count, until: plant.finds })
    },
  }
}

describe('of the tenants whose requests share two connections', async () => {
  const { t, run } = await site(200)

  test(
    `none sees anything of another in ${count} reads, whatever is cut off, times out or fails in between`,
    async () => {
      const began = performance.now()
      const { flaws, read, disturbed, looks, unanswered } = await run(count)
      const seconds = (performance.now() - began) / 1_000
      const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, one) => all + one, 0)
      if (long)
        console.log(
          `${sum(read)} reads, ${unanswered} put off, ${sum(disturbed)} disturbances, ${looks} looks, ${seconds.toFixed(1)} s`,
          read,
          disturbed,
        )
      expect(flaws.slice(0, 5)).toEqual([])
      expect(sum(read)).toBeGreaterThanOrEqual(count)
      // Nothing of this was proved by what did not happen.
      expect(Object.keys(read).toSorted()).toEqual(Object.keys(reads).toSorted())
      expect(Object.keys(disturbed).toSorted()).toEqual(Object.keys(disturbances).toSorted())
      expect(looks).toBeGreaterThan(count / 20)
      const [row] = await t.owner<{ open: number }[]>`
        select count(*)::int as open from pg_stat_activity
        where datname = current_database() and application_name = 'svc-api'`
      expect(row?.open).toBeLessThanOrEqual(connections)
    },
    60_000 + count * 20,
  )
})

describe.each(Object.entries(plants))('when %s', async (_name, plant) => {
  const { run } = await site(12, plant)

  // Whether one look sees it is chance, and on a busy machine a small one: it is looked for until it is seen.
  test('that is found', async () => {
    const { flaws } = await run(6_000)
    expect(
      flaws.filter((flaw) => plant.finds.test(flaw)).length,
      flaws.slice(0, 10).join('\n'),
    ).toBeGreaterThan(0)
  }, 120_000)
})
