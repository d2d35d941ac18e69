import { afterEach, beforeEach, expect, it } from 'vitest'
import { until, World } from './harness.ts'
import { connect } from './wire.ts'

let world: World
beforeEach(async () => {
  world = await new World().start()
})
afterEach(() => world.stop())

it('tells and reports the server’s time, however wrong the clock of its own host is', async () => {
  world.plane.clockAheadMs = 600_000
  const { dial } = await world.gateway()
  const device = world.device()
  const agent = await connect(dial, device)
  const { welcome } = await agent.greet()
  agent.send({ heartbeat: { uptimeSeconds: 1 } })
  const { heartbeatAck } = await agent.next()
  await until(async () => (await world.upOf(device)).some((item) => item.heartbeat))
  const item = (await world.upOf(device)).at(-1)
  const through = Math.max(...(await world.up()).map((batch) => batch.completeThroughMs))
  for (const said of [welcome?.serverTimeMs, heartbeatAck?.serverTimeMs, item?.receivedAtMs, through])
    expect(Math.abs((said ?? 0) - Date.now() - 600_000)).toBeLessThan(5_000)
})
