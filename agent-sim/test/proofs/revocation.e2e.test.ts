import { expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { revocation } from './revocation.ts'
import { plantedRows } from './revocation/planted.ts'
import { tableOf } from './verdict.ts'

systemTests('the proof that a revocation acts within 5 s, in each state of Redis', () => {
  test('it does, and is seen not to where its guards are taken away', async () => {
    const rows = await revocation({ seconds: 0, agents: 3, seed: 7, plant: true, say: () => undefined })
    const failed = rows.filter(({ pass }) => !pass).map(({ what }) => what)
    expect(failed, tableOf(rows)).toEqual(Object.values(plantedRows))
  })
})
