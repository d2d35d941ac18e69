import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { Stage } from './restore/restore.ts'
import { passed, tableOf } from './verdict.ts'

systemTests('the proof of a restore', () => {
  const options = { seconds: 8, agents: 20, rate: 15, seed: 7, say: () => undefined }
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(options)
  })
  afterAll(() => stage?.close())

  test('20 agents know better than a database that was brought back to an earlier moment', async () => {
    const rows = await stage.play(options)
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('it fails where nobody notices', async () => {
    const rows = await stage.play({ ...options, seconds: 4, plant: 'no-notice', patienceMs: 5_000 })
    const failed = rows.filter(({ pass }) => !pass).map(({ what }) => what)
    expect(failed.join('\n'), tableOf(rows)).toMatch(
      /under way.*revoked after it.*enrolled after it is cut.*schedule.*told/s,
    )
  })
})
