import { closeCode, encodeBody, svc } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { admitted, pause, until, World } from './harness.ts'
import type { Device } from './wire.ts'

let world: World
beforeEach(async () => {
  world = await new World().start()
})
afterEach(() => world.stop())

const commandId = '018f0000-0000-7000-8000-0000000000aa'
const heartbeat = { heartbeat: { uptimeSeconds: 1 } }

describe('while the bus is away', () => {
  const kinds = ['session', 'heartbeat', 'commandResult'] as const
  const saysAll = async (dial: Parameters<typeof admitted>[0], device: Device) => {
    const { agent } = await admitted(dial, device)
    agent.send(heartbeat)
    expect((await agent.next()).heartbeatAck).toBeTruthy()
    agent.send({ commandResult: { commandId } })
    return agent
  }
  const bodies = (items: svc.v1.IUpItem[]) =>
    items.map((item) => kinds.find((kind) => item[kind] != null) ?? 'another')

  it('what agents say goes up by the exchange, in order and once', async () => {
    const { dial } = await world.gateway()
    world.bus.switch(false)
    const device = world.device()
    await saysAll(dial, device)
    await until(() => world.carried(device).length === 3)
    world.bus.switch(true)
    await pause(50)
    expect(bodies(world.carried(device))).toEqual(kinds)
    expect(await world.upOf(device)).toEqual([])
  })

  it('all of it waits for a control plane that takes it, or for the bus', async () => {
    const { dial } = await world.gateway()
    world.plane.takesUp = false
    world.bus.switch(false)
    const device = world.device()
    await saysAll(dial, device)
    await pause(50)
    world.bus.switch(true)
    await until(async () => (await world.upOf(device)).length === 3)
    expect(bodies(await world.upOf(device))).toEqual(kinds)
    expect(world.carried(device)).toEqual([])
  })

  it('a watermark of each shard goes up all the same', async () => {
    const { gateway } = await world.gateway({ limits: { watermarkEveryMs: 30 } })
    world.bus.switch(false)
    const since = Date.now()
    await until(() => world.marks(gateway.node, since).size === 16)
  })

  it('what the device is owed comes with the answers, and so does the end of a connection that is outdated', async () => {
    const { dial, gateway } = await world.gateway()
    const device = world.device()
    const { agent, epoch } = await admitted(dial, device)
    world.bus.switch(false)
    await until(() => world.plane.requests.some(({ busAway }) => busAway))
    const frame = encodeBody({ resultAck: { commandId } })
    const messages: svc.v1.IEdgeMessage[] = [
      { deliver: { deviceId: device.id, epoch, frame } },
      {
        disconnect: { deviceId: device.id, belowEpoch: epoch + 5, reason: svc.v1.CloseReason.SUPERSEDED },
      },
    ]
    world.plane.messages.push(
      ...messages.map((message) => svc.v1.EdgeMessage.encode(message as svc.v1.EdgeMessage).finish()),
    )
    expect((await agent.next()).resultAck).toMatchObject({ commandId })
    expect(await agent.peer.closed).toBe(closeCode('SUPERSEDED'))
    expect(gateway.stats().counters.messagesReturned).toBe(2)
    expect((await admitted(dial, device)).epoch).toBeGreaterThan(epoch + 5)
  })

  it('and for a moment after it is back, since others may not have noticed', async () => {
    await world.gateway({ limits: { busSettlesMs: 300 } })
    const lastSaid = () => world.plane.requests.at(-1)?.busAway
    expect(lastSaid()).toBe(false)
    world.bus.switch(false)
    await until(() => lastSaid() === true)
    world.bus.switch(true)
    const before = world.plane.requests.length
    await until(() => world.plane.requests.length > before + 1)
    expect(world.plane.requests[before + 1]?.busAway).toBe(true)
    await until(() => lastSaid() === false)
  })

  it('is told of once that it is back, as messages may have been missed', async () => {
    await world.gateway()
    await until(() => world.plane.requests.length > 1)
    world.bus.switch(false)
    await until(() => world.plane.requests.at(-1)?.busAway === true)
    expect(world.plane.requests.filter(({ busGap }) => busGap)).toEqual([])
    world.bus.switch(true)
    await until(() => world.plane.requests.some(({ busGap }) => busGap))
    const told = world.plane.requests.length
    await until(() => world.plane.requests.length > told + 1)
    expect(world.plane.requests.filter(({ busGap }) => busGap)).toHaveLength(1)
  })

  it('nothing goes up without the exchange', async () => {
    const { dial, gateway } = await world.gateway({ without: new Set(['exchange_up']) })
    world.bus.switch(false)
    const device = world.device()
    await saysAll(dial, device)
    await pause(100)
    expect([world.carried(device), gateway.stats().uplink.items]).toEqual([[], 3])
  })
})

describe('a bus that is up and takes nothing', () => {
  it('is passed by for the exchange at once; a full stream is not', async () => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { agent } = await admitted(dial, device)
    await until(async () => (await world.upOf(device)).length === 1)
    world.bus.broken = true
    agent.send(heartbeat)
    await until(() => world.carried(device).length === 1)
    world.bus.broken = false
    world.bus.full = true
    agent.send({ commandResult: { commandId } })
    await pause(100)
    expect(world.carried(device)).toHaveLength(1)
    world.bus.full = false
    await until(async () => (await world.upOf(device)).length === 2)
  })

  it('is not waited for once it counts as away', async () => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { agent } = await admitted(dial, device)
    await until(async () => (await world.upOf(device)).length === 1)
    world.bus.hangs = true
    agent.send(heartbeat)
    await pause(50)
    expect(world.carried(device)).toEqual([])
    world.bus.switch(false)
    await until(() => world.carried(device).length === 1)
  })
})
