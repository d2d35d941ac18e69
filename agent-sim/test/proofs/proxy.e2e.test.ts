import { expect, test } from 'vitest'
import { proofTests } from './needs.ts'
import { behindProxy, proxyPlants } from './proxy/proxy.ts'
import { passed, tableOf } from './verdict.ts'

const say = () => undefined

proofTests('the proof of a life behind proxies', ['haproxy'], () => {
  test('60 agents through one that cuts after 6 s, for 13 s', async () => {
    const rows = await behindProxy({ seconds: 13, agents: 60, seed: 7, say })
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('it fails where servers take the first line, trust everybody, and nobody pings', async () => {
    const rows = await behindProxy({ seconds: 9, agents: 10, seed: 7, plants: proxyPlants, say })
    const failed = rows.filter(({ pass }) => !pass).map(({ what }) => what)
    expect(failed.join('\n'), tableOf(rows)).toMatch(
      /over WebSocket that are taken.*that are believed.*anew.*dead peer over WebSocket/s,
    )
  })
})
