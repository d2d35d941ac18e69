import { expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { redisAway } from './redis-away.ts'
import { plantedRows } from './redis-away/deaf.ts'
import { tableOf } from './verdict.ts'

systemTests('the proof that life goes on without Redis', () => {
  test('200 agents and 20 commands a second, without it for 12 s; it is seen not to where a gateway hands nothing up', async () => {
    const rows = await redisAway({
      seconds: 12,
      agents: 200,
      rate: 20,
      seed: 7,
      busyMs: 10_000,
      plant: 'no-exchange-up',
      say: () => undefined,
    })
    const failed = rows.filter(({ pass }) => !pass)
    expect(
      failed.map(({ what, seen }) => [what, seen]),
      tableOf(rows),
    ).toEqual(plantedRows.map((what) => [what, '0']))
  })
})
