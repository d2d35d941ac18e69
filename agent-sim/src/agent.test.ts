import { svc } from '@svc/proto'
import { expect, it } from 'vitest'
import { Device } from '../test/device.ts'

const { Outcome, CloseReason } = svc.v1

it('greets first, then beats for the first time within the interval and after that once per interval', async () => {
  const device = await new Device().start()
  device.random = 0.25
  const end = device.wire.admit({ heartbeatIntervalMs: 60_000, resumeToken: Buffer.from('token') })
  expect(end.received[0]?.hello).toMatchObject({ protocolMin: 1, os: 'linux', arch: 'amd64', bootId: 'boot' })
  expect(end.received.map(({ seq }) => seq)).toEqual(end.received.map((_, at) => at + 1))
  await device.clock.advance(14_999)
  expect(end.of('heartbeat')).toHaveLength(0)
  await device.clock.advance(1)
  expect(end.of('heartbeat')).toHaveLength(1)
  end.say({ heartbeatAck: { nextIntervalMs: 60_000 } })
  await device.clock.advance(60_000)
  expect(end.of('heartbeat')).toHaveLength(2)
})

it('takes a new interval from an answer at a new phase', async () => {
  const device = await new Device().live()
  await device.clock.advance(30_000)
  expect(device.wire.end.of('heartbeat')).toHaveLength(1)
  device.random = 0.1
  device.wire.end.say({ heartbeatAck: { nextIntervalMs: 5_000 } })
  await device.clock.advance(500)
  expect(device.wire.end.of('heartbeat')).toHaveLength(2)
  await device.clock.advance(5_000)
  expect(device.wire.end.of('heartbeat')).toHaveLength(3)
})

it('draws each interval anew, a fifth more or less, so that no fleet keeps to a common beat', async () => {
  const device = await new Device().live()
  const { end } = device.wire
  await device.clock.advance(29_999)
  for (const [random, ms] of [
    [0, 48_000],
    [1, 72_000],
    [0.5, 60_000],
  ] as const) {
    device.random = random
    const before = end.of('heartbeat').length
    await device.clock.advance(1) // the beat from which the interval counts
    end.say({ heartbeatAck: {} })
    await device.clock.advance(ms - 1)
    expect(end.of('heartbeat')).toHaveLength(before + 1)
  }
})

it('draws a new heartbeat phase on every connection and presents its resume token', async () => {
  const device = await new Device().start()
  device.wire.admit({ resumeToken: Buffer.from('token') })
  device.wire.end.close('PEER_CLOSED')
  await device.clock.advance(500)
  expect(device.wire.ends).toHaveLength(2)
  device.random = 0.9
  const end = device.wire.admit()
  expect(Buffer.from(end.of('hello')[0]?.resumeToken ?? []).toString()).toBe('token')
  await device.clock.advance(53_999)
  expect(end.of('heartbeat')).toHaveLength(0)
  await device.clock.advance(1)
  expect(end.of('heartbeat')).toHaveLength(1)
})

it('gives up a connection on which three heartbeats in a row went unanswered', async () => {
  const device = await new Device().live()
  await device.clock.advance(30_000 + 3 * 60_000)
  expect(device.wire.ends[0]?.of('heartbeat')).toHaveLength(3)
  expect(device.wire.ends[0]?.closedWith).toBe('KEEPALIVE_TIMEOUT')
})

it('gives up a gateway that does not welcome it within 20 seconds', async () => {
  const device = await new Device().start()
  device.wire.end.open()
  await device.clock.advance(20_000)
  expect(device.wire.ends[0]?.closedWith).toBe('ADMISSION_TIMEOUT')
  await device.clock.advance(500)
  expect(device.wire.ends).toHaveLength(2)
})

it('on a clean stop ends what runs as interrupted, says goodbye, and does not come back', async () => {
  const device = await new Device().live()
  const { end } = device.wire
  await device.script('wait', { lane: 'bulk' })
  await device.script('later', { lane: 'bulk' })
  await device.agent.stop()
  expect(end.of('commandResult')).toMatchObject([{ outcome: Outcome.INTERRUPTED }])
  expect(end.received.at(-1)?.goodbye).toMatchObject({ reason: CloseReason.SHUTDOWN })
  expect(end.closedWith).toBe('SHUTDOWN')
  await device.clock.advance(600_000)
  expect(device.wire.ends).toHaveLength(1)
  expect(device.ran).toEqual(['wait'])
  expect(device.ledger.open().map(({ state }) => state)).toEqual(['finished', 'received'])
})

it('comes back after being superseded, slower each time two copies push each other off', async () => {
  const device = await new Device().live()
  const waits: number[] = []
  for (let round = 0; round < 8; round += 1) {
    device.wire.end.close('SUPERSEDED')
    const last = device.events.at(-1)
    if (last?.kind !== 'disconnected') throw new Error('not disconnected')
    waits.push(last.retryInMs)
    await device.clock.advance(last.retryInMs)
    device.wire.admit()
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000])
})

it('obeys a refusal: not before its time, and never with a dead credential', async () => {
  const device = await new Device().start()
  device.wire.end.open()
  device.wire.end.say({ refused: { reason: CloseReason.ADMISSION_RATE, retryAfterMs: 10_000 } })
  await device.clock.advance(10_499)
  expect(device.wire.ends).toHaveLength(1)
  await device.clock.advance(1)
  expect(device.wire.ends).toHaveLength(2)
  device.wire.end.open()
  device.wire.end.say({ refused: { reason: CloseReason.CREDENTIAL_REVOKED, text: 'revoked' } })
  await device.clock.advance(3_600_000)
  expect(device.wire.ends).toHaveLength(2)
  expect(device.events.at(-1)).toEqual({ kind: 'stopped', reason: 'CREDENTIAL_REVOKED', text: 'revoked' })
})

it('takes a reason that it does not know for one to come back after', async () => {
  const device = await new Device().start()
  device.wire.end.open()
  device.wire.end.say({ refused: { reason: 99 as svc.v1.CloseReason } })
  await device.clock.advance(500)
  expect(device.wire.ends).toHaveLength(2)
})

it('moves within the window it is given, working until then, also when the gateway closes first', async () => {
  const device = await new Device().live()
  device.wire.end.say({ move: { afterMs: 10_000, reason: CloseReason.DRAINING } })
  await device.script('ok')
  expect(device.ran).toEqual(['ok'])
  await device.clock.advance(4_999)
  expect(device.wire.ends).toHaveLength(1)
  await device.clock.advance(1)
  expect(device.wire.ends).toHaveLength(2)
  device.wire.admit()
  device.wire.end.say({ move: { afterMs: 10_000 } })
  await device.clock.advance(1_000)
  device.wire.end.close('DRAINING')
  await device.clock.advance(3_999)
  expect(device.wire.ends).toHaveLength(2)
  await device.clock.advance(1)
  expect(device.wire.ends).toHaveLength(3)
})

it('does not wait out an old delay after the network changed', async () => {
  const device = await new Device().start()
  for (let i = 0; i < 8; i += 1) {
    device.wire.end.close('PEER_CLOSED')
    if (i < 7) await device.clock.advance(60_000)
  }
  const before = device.wire.ends.length
  device.agent.networkChanged()
  await device.clock.advance(1_000)
  expect(device.wire.ends).toHaveLength(before + 1)
})

it('asks after the network changed whether its connection is one, and leaves it when nobody answers', async () => {
  const device = await new Device().live()
  device.agent.networkChanged()
  await device.clock.advance(0)
  expect(device.wire.ends[0]?.of('heartbeat')).toHaveLength(1)
  device.wire.end.say({ heartbeatAck: {} })
  await device.clock.advance(10_000)
  expect(device.wire.ends).toHaveLength(1)
  device.agent.networkChanged()
  await device.clock.advance(3_000)
  expect(device.wire.ends[0]?.closedWith).toBe('KEEPALIVE_TIMEOUT')
  expect(device.wire.ends).toHaveLength(2)
})

it('gives up after the network changed what it had begun to connect over the old one', async () => {
  const device = await new Device().start()
  device.wire.end.open()
  device.agent.networkChanged()
  await device.clock.advance(1_000)
  expect(device.wire.ends[0]?.closedWith).toBe('PEER_CLOSED')
  expect(device.wire.ends).toHaveLength(2)
})

it('sends inventory until it is acked, and then only what changed', async () => {
  const device = await new Device().live()
  const { end } = device.wire
  const kinds = () => end.of('inventory').map(({ payload }) => payload)
  expect(kinds()).toEqual(['hardware', 'disks'])
  const [hardware] = end.of('inventory')
  end.say({ inventoryAck: { kind: 'hardware', hash: hardware?.hash ?? null } })
  end.say({ inventoryAck: { kind: 'disks', hash: Buffer.from('of an older one') } })
  await device.clock.advance(30_000)
  expect(kinds()).toEqual(['hardware', 'disks', 'disks'])
  end.say({ inventoryAck: { kind: 'disks', hash: end.of('inventory')[2]?.hash ?? null } })
  device.disks = 200
  await device.script('', { type: 'refresh_inventory', args: {} })
  expect(kinds()).toEqual(['hardware', 'disks', 'disks', 'disks'])
  const [result] = end.of('commandResult')
  expect(JSON.parse(Buffer.from(result?.result ?? []).toString())).toEqual({
    collected: ['hardware', 'disks'],
  })
})

it('tells when inventory was collected by the time of the server, though that was before it knew it', async () => {
  const device = await new Device().start()
  const collectedAt = device.clock.now()
  await device.clock.advance(5_000)
  const year = 365 * 86_400_000
  const end = device.wire.admit({ serverTimeMs: device.clock.now() + year })
  expect(end.of('inventory').map(({ collectedAtMs }) => collectedAtMs)).toEqual([
    collectedAt + year,
    collectedAt + year,
  ])
})

it('sends what an earlier server never acks ever more seldom, and at once to the next one', async () => {
  const device = await new Device().live()
  const sent = () => device.wire.end.of('inventory').length / 2 // of two kinds
  const minute = 60_000
  for (const [afterMs, times] of [
    [minute / 2, 2],
    [minute, 3],
    [minute, 3],
    [minute, 4],
    [60 * minute, 8],
    [60 * minute, 9],
  ] as const) {
    for (let ms = 0; ms < afterMs; ms += minute / 2) {
      await device.clock.advance(minute / 2)
      device.wire.end.say({ heartbeatAck: {} })
    }
    expect(sent()).toBe(times)
  }
  device.wire.end.close('PEER_CLOSED')
  await device.clock.advance(3_000)
  device.wire.admit()
  expect(sent()).toBe(1)
})

it('says nothing that an earlier gateway would close the connection for, and says it to the next one', async () => {
  const device = await new Device().start()
  device.wire.admit({ upKinds: [] })
  device.wire.end.say({ updateOffer: { component: 'agent', version: '9.0.0' } })
  await device.clock.advance(0)
  expect(device.wire.end.of('updateStatus')).toEqual([])
  device.wire.end.close('DRAINING')
  await device.clock.advance(5_000)
  device.wire.admit()
  expect(device.wire.end.of('updateStatus')).toMatchObject([{ toVersion: '9.0.0' }])
})

it('ends a connection that sends what does not decode, and ignores what a later version may mean', async () => {
  const device = await new Device().live()
  device.wire.end.garbage(Buffer.from([8, 1, 250, 3, 0]))
  expect(device.wire.end.closedWith).toBeUndefined()
  device.wire.end.garbage(Buffer.from([255, 255, 255]))
  expect(device.wire.end.closedWith).toBe('MALFORMED_FRAME')
})

it('leaves no timer behind once it is stopped', async () => {
  const device = await new Device().live()
  await device.script('ok')
  await device.agent.stop()
  expect(device.clock.pending).toBe(0)
})
