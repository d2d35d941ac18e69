import { afterAll, beforeAll, expect, test } from 'vitest'
import { proofTests } from './needs.ts'
import { Stage, twoNodesPlants } from './two-nodes/two-nodes.ts'
import { passed, tableOf } from './verdict.ts'

proofTests('the proof of two nodes', ['haproxy'], () => {
  const options = { seconds: 10, agents: 20, rate: 10, seed: 7, say: () => undefined }
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(options)
  })
  afterAll(() => stage?.close())

  test('20 agents and 10 commands a second, and a part of each kind is killed', async () => {
    const kills = ['control plane 1', 'gateway 2', 'Redis', 'Postgres', 'HAProxy'] as const
    const rows = await stage.play({ ...options, kills })
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('it fails where callers repeat without keys, and the database answers before it has synced', async () => {
    const rows = await stage.play({
      ...options,
      seconds: 2,
      rate: 60,
      plants: twoNodesPlants,
      kills: ['Postgres'],
      // What is lost does not come back; there is no need to wait for it.
      convergeWithinMs: 8_000,
    })
    expect(passed(rows), tableOf(rows)).toBe(false)
    expect(rows.map(({ seen }) => seen).join('\n'), tableOf(rows)).toMatch(/is lost|nobody was told of it/)
  })
})
