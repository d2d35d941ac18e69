import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { TestGateway } from '../../test/gateway.ts'
import type { Mishap } from './churn.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { parseMix } from './mix.ts'

let gateway: TestGateway
let fleet: Fleet | undefined

beforeEach(async () => {
  gateway = await TestGateway.open()
})
afterEach(async () => {
  await fleet?.kill()
  await gateway.close()
})

it('under churn devices go and come back as themselves, with what they owe, and no command runs twice', async () => {
  const struck: [number, Mishap][] = []
  const running = await startFleet({
    api: gateway.api,
    enrollmentKey: 'key',
    rampPerSecond: 500,
    agents: 6,
    transports: parseMix('websocket=1,mqtt=1'),
    churn: { perMinute: 8_000, seed: 3 },
    struck: (number, mishap) => struck.push([number, mishap]),
  })
  fleet = running
  await running.ready()
  const ids = [...gateway.peers.values()].map((peer) => [peer, peer.script('sleep 0.2\necho x')] as const)
  await eventually(() => new Set(struck.map(([, mishap]) => mishap)).size).toBe(3)
  await eventually(() => running.stats().churn.away).toBe(6) // blow on blow: whoever returns goes again
  const { churn } = running.stats()
  expect(churn.leave + churn.crash + churn.network).toBe(struck.length)
  const crashed = struck.find(([, mishap]) => mishap === 'crash')?.[0]
  const peer = gateway.peers.get(running.agents.find(({ number }) => number === crashed)?.deviceId ?? '')
  await eventually(() => peer?.connects).toBeGreaterThan(1)
  await eventually(() => ids.filter(([peer, id]) => peer.results(id).length > 0).length).toBeGreaterThan(3)
  expect(gateway.enrollments).toHaveLength(6)
  const runs = running.executions().map(({ commandId }) => commandId)
  expect(new Set(runs).size).toBe(runs.length)
  await running.stop()
  expect(running.stats().connected).toBe(0)
})
