import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { Stage } from './presence/presence.ts'
import { passed, tableOf } from './verdict.ts'

systemTests('the proof that presence is right under any interleaving', () => {
  const options = { agents: 150, seed: 7, interleavings: 150, say: () => undefined }
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(options)
  })
  afterAll(() => stage?.close())

  test('150 interleavings at three gateways that stall and die', async () => {
    const rows = await stage.play(options)
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('1,000 reconnects of one device without a gap end with one connection', async () => {
    const rows = await stage.reconnects(1_000)
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('it fails where what is said of a connection that is over counts', async () => {
    const rows = await stage.play({ ...options, plant: 'epochs' })
    const failed = rows.filter(({ pass }) => !pass).map(({ what }) => what)
    expect(failed, tableOf(rows)).toEqual(['devices with a connection that are not as the model has them'])
  })
})
