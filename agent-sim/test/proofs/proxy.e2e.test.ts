import { afterAll, beforeAll, expect, test } from 'vitest'
import { proofTests } from './needs.ts'
import { proxyPlants, Stage } from './proxy/proxy.ts'
import { passed, tableOf } from './verdict.ts'

proofTests('the proof of a life behind proxies', ['haproxy'], () => {
  const options = { seconds: 13, agents: 40, seed: 7, say: () => undefined }
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(options)
  })
  afterAll(() => stage?.close())

  test('40 agents through one that cuts after 6 s, for 13 s', async () => {
    const rows = await stage.play(options)
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('it fails where gateways take the first line, trust everybody, and nobody pings', async () => {
    const rows = await stage.play({ ...options, seconds: 13, agents: 10, plants: proxyPlants })
    const failed = rows.filter(({ pass }) => !pass).map(({ what }) => what)
    expect(failed.join('\n'), tableOf(rows)).toMatch(
      /over WebSocket that are taken.*that are believed.*anew.*dead peer over WebSocket/s,
    )
  })
})
