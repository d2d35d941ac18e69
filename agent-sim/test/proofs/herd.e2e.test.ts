import { expect, test } from 'vitest'
import { herdAgainst } from './faults/f13-herd.ts'
import { playFaults } from './faults/play.ts'
import { proofTests } from './needs.ts'
import { passed, tableOf } from './verdict.ts'

/** With 5,000, and that it can fail: `npm run proof -- faults --only F13 --agents 5000 [--plant]`. */
proofTests('the proof of herds', [], () => {
  const options = { seconds: 5, agents: 100, rate: 5, seed: 7, say: () => undefined }

  test('100 agents are cut off twice: they come back spread, and beat on no common beat', async () => {
    const rows = await playFaults([herdAgainst(20, 1_500)], options)
    expect(passed(rows), tableOf(rows)).toBe(true)
  })
})
