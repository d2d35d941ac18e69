import { afterAll, expect, test } from 'vitest'
import { runBench } from '../method/run.ts'
import { Undo } from '../method/undo.ts'
import { findRedisServer } from '../../../tools/services.ts'
import { apiOn } from './api.ts'
import { measures } from './api-figures.ts'
import { findPgbench } from './peers/pgbench.ts'
import { openStage, type Stage } from './stage/stage.ts'

const undo = new Undo()
afterAll(() => undo.run())

/** A bench that counted refusals would find a broken server fast. In the first round all is well, before the second the database refuses. */
test.skipIf(!findRedisServer())(
  'a server that answers errors makes the bench fail, and there is no result',
  async () => {
    const said: string[] = []
    let stage: Stage | undefined
    let rounds: readonly { side: string; round: number; seen: Record<string, number> }[] = []
    const bench = apiOn(async (...of) => (stage = await openStage(...of)))
    const watched = {
      ...bench,
      run: async (ground: Parameters<typeof bench.run>[0]) => {
        const kept: { side: string; round: number; seen: Record<string, number> }[] = []
        rounds = kept
        await bench.run({
          ...ground,
          saw: (side, round, seen, busy) => {
            kept.push({ side, round, seen })
            ground.saw(side, round, seen, busy)
            if (side === 'http' && round === 1)
              broken = stage?.sql.unsafe('revoke insert on outbox from svc_app').execute()
          },
        })
      },
    }
    let broken: PromiseLike<unknown> | undefined
    // So many that even the cheapest of them takes several of the 10 ms in which the kernel counts.
    const progress = { show: (line: string) => void said.push(line), clear: () => undefined }
    const result = runBench(watched, { quick: true, rounds: 2, scale: 600, progress, undo })
    await expect(result).rejects.toThrow(/POST \S+\/commands must answer 201 and answered \d+ × 500/)
    await broken

    const first = rounds.filter(({ round }) => round === 1)
    const sides = ['ours', 'fastify', 'http', ...(findPgbench() ? ['pgbench'] : [])]
    expect(first.map(({ side }) => side)).toEqual(sides)
    expect(Object.keys(first[0]?.seen ?? {}).toSorted()).toEqual(measures.map(({ name }) => name).toSorted())
    // Whoever did something used time for it, and the other way round.
    for (const { side, seen } of first)
      for (const [name, value] of Object.entries(seen))
        if (!(name.startsWith('loop delay') || (side === 'pgbench' && name === 'create: server')))
          expect(value, `${side}: ${name}`).toBeGreaterThan(0)
    expect(rounds.filter(({ round }) => round === 2)).toEqual([])
    expect(said.at(-1)).toBe('round 2: creates, ours')
  },
)
