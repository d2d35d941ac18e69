import { expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { hostile } from './hostile/hostile.ts'
import { passed, tableOf } from './verdict.ts'

systemTests('the proof that hostile devices end nothing but their own connections', () => {
  test('mutated frames on each transport, whatever else can be wrong, and a gateway that is seen to fail', async () => {
    const rows = await hostile({ frames: 2_500, agents: 8, seed: 7, short: true, say: () => undefined })
    expect(passed(rows), tableOf(rows)).toBe(true)
  })
})
