import { closeCode, svc } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { admitted, pause, until, World } from './harness.ts'
import { connect, type Device, type Dial, headersOf, newDevice } from './wire.ts'
import { makeDeviceToken } from '@svc/proto'

let world: World
beforeEach(async () => {
  world = await new World().start()
})
afterEach(() => world.stop())

const { CloseReason, Standing } = svc.v1

describe('admission', () => {
  it('asks the control plane about a device it does not know, then welcomes it', async () => {
    const { dial, gateway } = await world.gateway()
    const before = Date.now() * 1000
    const { epoch } = await admitted(dial, world.device({ heartbeatIntervalMs: 5_000 }))
    expect(epoch).toBeGreaterThanOrEqual(before)
    expect(gateway.stats()).toMatchObject({
      residents: 1,
      newcomers: 0,
      counters: { missed: 1, admitted: 1 },
    })
  })

  it('tells the interval, the frame limit and the protocol version', async () => {
    const { dial } = await world.gateway()
    const agent = await connect(dial, world.device({ heartbeatIntervalMs: 5_000 }))
    const { welcome, seq } = await agent.greet()
    expect(seq).toBe(1)
    expect(welcome).toMatchObject({ heartbeatIntervalMs: 5_000, maxFrameBytes: 4 * 1024 * 1024, protocol: 1 })
    expect(welcome?.upKinds).toEqual([2, 3, 4, 5, 6, 7, 9, 12, 13])
  })

  it('asks no second time for a device it has seen', async () => {
    const { dial, gateway } = await world.gateway()
    const device = world.device()
    const first = await admitted(dial, device)
    first.agent.peer.close()
    await admitted(dial, device)
    expect(gateway.stats().counters).toMatchObject({ missed: 1, admitted: 2 })
  })

  it('asks once for many devices that come together', async () => {
    const { dial } = await world.gateway({ limits: { exchangeEveryMs: 60_000 } })
    const devices = Array.from({ length: 200 }, () => world.device())
    await Promise.all(devices.map((device) => admitted(dial, device)))
    expect(world.plane.requests.length).toBeLessThan(6)
  })

  it('takes an epoch above the floor that the control plane names', async () => {
    const { dial } = await world.gateway()
    const ahead = (Date.now() + 3_600_000) * 1000
    const { epoch } = await admitted(dial, world.device({ epochFloor: ahead }))
    expect(epoch).toBe(ahead + 1)
  })

  it('reports the connect with its Hello', async () => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { epoch } = await admitted(dial, device)
    await until(async () => (await world.upOf(device)).length > 0, 'the connect')
    expect((await world.upOf(device))[0]).toMatchObject({
      epoch,
      session: {
        kind: svc.v1.SessionEvent.Kind.CONNECTED,
        via: 'websocket',
        hello: { agentVersion: '1.0.0' },
      },
    })
  })
})

describe('refusals', () => {
  const refusal = async (device: Device, options = {}) => {
    const { dial } = await world.gateway(options)
    const agent = await connect(dial, device)
    const { refused } = await agent.greet()
    return { refused, code: await agent.peer.closed }
  }

  it.each([
    ['quarantined', Standing.STANDING_QUARANTINED, 'QUARANTINED', false],
    ['decommissioned', Standing.STANDING_DECOMMISSIONED, 'DECOMMISSIONED', true],
  ] as const)('names why a %s device stays out', async (_name, standing, reason, forGood) => {
    const { refused, code } = await refusal(world.device({ standing }))
    expect(refused).toMatchObject({ reason: CloseReason[reason] })
    expect(refused?.retryAfterMs === 0).toBe(forGood)
    expect(code).toBe(closeCode(reason))
  })

  it('refuses a device that does not exist, for good', async () => {
    const { refused } = await refusal(newDevice())
    expect(refused).toMatchObject({ reason: CloseReason.CREDENTIAL_INVALID, retryAfterMs: 0 })
  })

  it('refuses a well-formed token that is not the device’s', async () => {
    const device = world.device()
    const { refused } = await refusal({ ...device, token: makeDeviceToken(device.id) })
    expect(refused).toMatchObject({ reason: CloseReason.CREDENTIAL_INVALID, retryAfterMs: 0 })
  })

  it('tells to come back when the control plane does not answer', async () => {
    world.plane.away = true
    const { refused } = await refusal(world.device())
    expect(refused).toMatchObject({ reason: CloseReason.UNAVAILABLE })
    expect(refused?.retryAfterMs).toBeGreaterThan(0)
  })

  it('refuses an agent that speaks only other versions', async () => {
    const { dial } = await world.gateway()
    const agent = await connect(dial, world.device())
    const { refused } = await agent.greet({ protocolMin: 2, protocolMax: 9 })
    expect(refused).toMatchObject({ reason: CloseReason.PROTOCOL_VERSION })
  })

  it('keeps its admission rate, and spreads those beyond it over the window', async () => {
    const limits = { helloBurst: 3, helloPerSecond: 0.001, retryWindowMs: 5_000, maxRetryWindowMs: 60_000 }
    const { dial } = await world.gateway({ limits })
    const answers = await Promise.all(
      Array.from({ length: 40 }, async () => (await connect(dial, world.device())).greet()),
    )
    const refused = answers.flatMap((answer) => (answer.refused ? [answer.refused] : []))
    expect(refused).toHaveLength(37)
    const waits = refused.map(({ retryAfterMs }) => retryAfterMs ?? 0)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(2_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_001)
  })

  it('cuts a connection that says nothing', async () => {
    const { dial, gateway } = await world.gateway({ limits: { helloWithinMs: 30 } })
    const agent = await connect(dial, world.device())
    expect((await agent.next()).refused).toMatchObject({ reason: CloseReason.ADMISSION_TIMEOUT })
    expect(await agent.peer.closed).toBe(closeCode('ADMISSION_TIMEOUT'))
    expect(gateway.stats()).toMatchObject({ newcomers: 0, residents: 0 })
  })

  it('takes no more than 16 KiB from somebody it does not know', async () => {
    const { dial } = await world.gateway()
    const agent = await connect(dial, world.device())
    agent.hello({ protocolMin: 1, protocolMax: 1, bootId: 'x'.repeat(17_000) })
    expect(await agent.peer.closed).toBe(closeCode('OVERSIZED_FRAME'))
  })

  it('hears nothing before the Hello, and nothing between Hello and Welcome', async () => {
    const { dial } = await world.gateway()
    const early = await connect(dial, world.device())
    early.send({ heartbeat: {} })
    expect(await early.peer.closed).toBe(closeCode('UNEXPECTED_FRAME'))
    const hasty = await connect(dial, world.device())
    hasty.hello()
    hasty.send({ heartbeat: {} })
    expect(await hasty.peer.closed).toBe(closeCode('UNEXPECTED_FRAME'))
  })

  it.each([
    ['no credential', {}, 401],
    ['a foreign credential', { authorization: 'Bearer svc_abc' }, 401],
    ['another scheme', { authorization: 'Basic YTpi' }, 401],
  ] as const)('turns %s away before the upgrade', async (_name, headers, status) => {
    const { dial, gateway } = await world.gateway()
    expect(await dial({ protocol: 'svc.agent.v1', ...headers })).toBe(status)
    expect(gateway.stats().counters.rejected).toEqual({ [status]: 1 })
  })

  it('turns another subprotocol away before the upgrade', async () => {
    const { dial } = await world.gateway()
    expect(await dial({ ...headersOf(world.device()), protocol: 'mqtt' })).toBe(400)
  })
})

describe('an address', () => {
  const limits = { knocksPerAddress: 3, knocksPerAddressPerSecond: 0.001 }
  const office = '203.0.113.9'
  const turnedAway = (dial: Dial, device = newDevice()) => dial(headersOf(device))

  it('whose connections show no identity is turned away after so many; others are let in', async () => {
    const { gateway, dialFrom } = await world.gateway({ limits })
    for (let n = 0; n < 3; n++) {
      const stranger = await connect(dialFrom(office), newDevice())
      expect((await stranger.greet()).refused).toBeTruthy()
    }
    expect(await turnedAway(dialFrom(office))).toBe(429)
    expect(gateway.stats().counters.rejected).toEqual({ 429: 1 })
    await admitted(dialFrom('203.0.113.10'), world.device())
  })

  it('of any number of devices pays nothing for them, nor for those that came when we were busy', async () => {
    const { dialFrom } = await world.gateway({ limits: { ...limits, helloBurst: 12, helloPerSecond: 0.001 } })
    for (let n = 0; n < 12; n++) await admitted(dialFrom(office), world.device())
    for (let n = 0; n < 6; n++) {
      const { refused } = await (await connect(dialFrom(office), world.device())).greet()
      expect(refused?.reason).toBe(CloseReason.ADMISSION_RATE)
    }
  })

  it('may have as many as it likes when nothing guards it', async () => {
    const { dialFrom } = await world.gateway({ limits, without: new Set(['knocks']) })
    for (let n = 0; n < 9; n++) await connect(dialFrom(office), newDevice())
  })
})

describe('a refusal is never older than what it is based on', () => {
  it('lets a device in with a new token although the old one is remembered', async () => {
    const device = world.device()
    let now = Date.now()
    const { MemoryClaims } = await import('../src/claims/memory.ts')
    const { dial } = await world.gateway({ claims: new MemoryClaims(() => now) })
    await admitted(dial, device)
    const renewed = { ...device, token: makeDeviceToken(device.id) }
    world.plane.knows(renewed, { credentialVersion: 2 })
    now += 6_000
    await admitted(dial, renewed)
    await pause(0)
  })
})
