import { randomBytes, randomUUID } from 'node:crypto'
import { closeCode, encodeBody, maxFrameBytes, svc } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Claims } from '../src/claims/claims.ts'
import { admitted, pause, until, World } from './harness.ts'
import { connect } from './wire.ts'

let world: World
beforeEach(async () => {
  world = await new World().start()
})
afterEach(() => world.stop())

const { CloseReason } = svc.v1
const commandId = '018f0000-0000-7000-8000-0000000000aa'
const heartbeat = { heartbeat: { uptimeSeconds: 1 } }
const frame = encodeBody({ resultAck: { commandId } })

describe('heartbeats and what else agents say', () => {
  it('acknowledges a heartbeat itself and hands it on', async () => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { agent, epoch } = await admitted(dial, device)
    agent.send(heartbeat)
    const { heartbeatAck, seq } = await agent.next()
    expect(seq).toBe(2)
    expect(heartbeatAck).toMatchObject({ nextIntervalMs: 60_000 })
    await until(async () => (await world.upOf(device)).some((item) => item.heartbeat))
    expect((await world.upOf(device)).at(-1)).toMatchObject({ epoch, heartbeat: { uptimeSeconds: 1 } })
  })

  it('hands acks, progress, results and inventory on, in order', async () => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.send({ commandAck: { commandId } })
    agent.send({ commandProgress: { commandId } })
    agent.send({ inventory: { hash: randomBytes(32), os: { hostname: 'h' } } })
    agent.send({ commandResult: { commandId, stdout: { data: Buffer.from('hi') } } })
    await until(async () => (await world.upOf(device)).some((item) => item.commandResult))
    const kinds = (await world.upOf(device)).map(
      (item) =>
        Object.keys(svc.v1.UpItem.toObject(item as svc.v1.UpItem)).filter((key) =>
          /^(command|inv|ses)/.test(key),
        )[0],
    )
    expect(kinds).toEqual(['session', 'commandAck', 'commandProgress', 'inventory', 'commandResult'])
  })

  it.each(['SHUTDOWN', 'UNINSTALL'] as const)('reports a goodbye for %s as such', async (reason) => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.send({ goodbye: { reason: CloseReason[reason] } })
    await until(async () => (await world.upOf(device)).length === 2)
    expect((await world.upOf(device))[1]?.session).toMatchObject({ reason: CloseReason[reason] })
  })

  it('reports a connection that just ends as no more than that', async () => {
    const { dial } = await world.gateway()
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.peer.close()
    await until(async () => (await world.upOf(device)).length === 2)
    expect((await world.upOf(device))[1]?.session).toMatchObject({
      kind: svc.v1.SessionEvent.Kind.DISCONNECTED,
      reason: CloseReason.PEER_CLOSED,
    })
  })

  it('cuts a device that has fallen silent, and not one that speaks', async () => {
    const { dial } = await world.gateway({ limits: { tickMs: 10 } })
    const quiet = await admitted(dial, world.device({ heartbeatIntervalMs: 200 }))
    const talker = await admitted(dial, world.device({ heartbeatIntervalMs: 200 }))
    const talking = setInterval(() => talker.agent.send(heartbeat), 100)
    await quiet.agent.peer.closed
    await pause(700)
    clearInterval(talking)
    const stats = world.gateways[0]?.stats()
    expect(stats).toMatchObject({ residents: 1, counters: { closed: { KEEPALIVE_TIMEOUT: 1 } } })
  })
})

describe('hostile agents', () => {
  const bad = {
    MALFORMED_FRAME: Buffer.from([0x0a, 0xff, 0xff]),
    UNKNOWN_KIND: Buffer.from([0xfa, 0x07, 0x01, 0x00]),
    UNEXPECTED_FRAME: encodeBody({ welcome: { epoch: 1 } }),
    OVERSIZED_FRAME: encodeBody({ heartbeat: { loggedInUser: 'x'.repeat(20_000) } }),
  } as const

  it.each(Object.keys(bad) as (keyof typeof bad)[])(
    '%s ends its own connection, is counted, and nobody else notices',
    async (reason) => {
      const { dial, gateway } = await world.gateway()
      const bystander = await admitted(dial, world.device())
      const { agent } = await admitted(dial, world.device())
      agent.peer.send(bad[reason])
      expect(await agent.peer.closed).toBe(closeCode(reason))
      expect(gateway.stats().counters.closed).toEqual({ [reason]: 1 })
      bystander.agent.send(heartbeat)
      expect((await bystander.agent.next()).heartbeatAck).toBeTruthy()
    },
  )

  it('a frame beyond the limit ends its connection', async () => {
    const { dial, gateway } = await world.gateway()
    const { agent } = await admitted(dial, world.device())
    agent.peer.send(new Uint8Array(maxFrameBytes + 1))
    await agent.peer.closed
    expect(gateway.stats().counters.closed).toEqual({ OVERSIZED_FRAME: 1 })
  })

  it('a second Hello, and a command id that is none, end their connections', async () => {
    const { dial } = await world.gateway()
    const twice = await admitted(dial, world.device())
    twice.agent.hello()
    expect(await twice.agent.peer.closed).toBe(closeCode('UNEXPECTED_FRAME'))
    const odd = await admitted(dial, world.device())
    odd.agent.send({ commandResult: { commandId: "' or 1=1" } })
    expect(await odd.agent.peer.closed).toBe(closeCode('MALFORMED_FRAME'))
  })

  it('two hundred frames of garbage never hurt a second connection', async () => {
    const { dial, gateway } = await world.gateway()
    const bystander = await admitted(dial, world.device())
    const device = world.device()
    for (let n = 0; n < 200; n++) {
      const { agent } = await admitted(dial, device)
      agent.peer.send(randomBytes(1 + (n % 97)))
      agent.peer.close()
    }
    bystander.agent.send(heartbeat)
    expect((await bystander.agent.next()).heartbeatAck).toBeTruthy()
    await until(() => gateway.stats().residents === 1)
    expect(gateway.stats().counters.errors).toBe(0)
  })
})

/** Claims of which the first that is taken is answered only when it is told to. */
async function slowClaims(): Promise<{ claims: Claims; held: (() => void)[] }> {
  const { MemoryClaims } = await import('../src/claims/memory.ts')
  const claims = new MemoryClaims()
  const held: (() => void)[] = []
  const slow = Object.create(claims) as Claims
  slow.admit = async (request) => {
    const answer = await claims.admit(request)
    if (answer.kind === 'admitted' && held.length === 0)
      await new Promise<void>((answered) => held.push(answered))
    return answer
  }
  for (const name of ['remember', 'revoke', 'release', 'hold', 'close'] as const)
    slow[name] = claims[name].bind(claims) as never
  return { claims: slow, held }
}

describe('takeover', () => {
  it('the newer connection of a device wins, on the same node', async () => {
    const { dial, gateway } = await world.gateway()
    const device = world.device()
    const old = await admitted(dial, device)
    const young = await admitted(dial, device)
    expect(young.epoch).toBeGreaterThan(old.epoch)
    expect(await old.agent.peer.closed).toBe(closeCode('SUPERSEDED'))
    young.agent.send(heartbeat)
    expect((await young.agent.next()).heartbeatAck).toBeTruthy()
    expect(gateway.stats().residents).toBe(1)
  })

  it('a claim that is answered late does not turn out one that was taken after it', async () => {
    const { claims, held } = await slowClaims()
    const { dial, gateway } = await world.gateway({ claims })
    const device = world.device()
    const overtaken = await connect(dial, device)
    overtaken.hello()
    await until(() => held.length === 1)
    const winner = await admitted(dial, device)
    held[0]?.()
    expect(await overtaken.peer.closed).toBe(closeCode('SUPERSEDED'))
    winner.agent.send(heartbeat)
    expect((await winner.agent.next()).heartbeatAck).toBeTruthy()
    expect(gateway.stats().residents).toBe(1)
  })

  it('who was overtaken at another node before its own claim was answered is not let in', async () => {
    const { claims, held } = await slowClaims()
    const { dial, gateway } = await world.gateway({ claims }, 'n1')
    const device = world.device()
    const overtaken = await connect(dial, device)
    overtaken.hello()
    await until(() => held.length === 1)
    const disconnect = { deviceId: device.id, reason: CloseReason.SUPERSEDED }
    await world.tell('n1', { disconnect: { ...disconnect, belowEpoch: Date.now() * 1000 + 60_000_000 } })
    await pause(20)
    held[0]?.()
    expect((await overtaken.next()).refused).toMatchObject({ reason: CloseReason.SUPERSEDED })
    expect(await overtaken.peer.closed).toBe(closeCode('SUPERSEDED'))
    expect(gateway.stats()).toMatchObject({ residents: 0, newcomers: 0 })
    // What was said of one admission is no matter of the next, which is above it.
    await admitted(dial, device)
    await until(async () => (await world.upOf(device)).length === 1)
  })

  it('many connections of one device at once leave exactly one', async () => {
    const { dial, gateway } = await world.gateway()
    const device = world.device()
    const agents = await Promise.all(Array.from({ length: 20 }, () => connect(dial, device)))
    for (const agent of agents) agent.hello()
    await until(() => gateway.stats().newcomers === 0)
    expect(gateway.stats()).toMatchObject({ residents: 1, counters: { closed: { SUPERSEDED: 19 } } })
  })

  it('a disconnect for an older epoch does not cut a newer connection', async () => {
    const { dial } = await world.gateway({}, 'n1')
    const device = world.device()
    const { agent, epoch } = await admitted(dial, device)
    await world.tell('n1', {
      disconnect: { deviceId: device.id, belowEpoch: epoch, reason: CloseReason.SUPERSEDED },
    })
    await world.tell('n1', { deliver: { deviceId: device.id, frame } })
    expect((await agent.next()).resultAck).toBeTruthy()
  })

  it('a disconnect below a higher epoch cuts, and the next admission is above it', async () => {
    const { dial } = await world.gateway({}, 'n1')
    const device = world.device()
    const { agent, epoch } = await admitted(dial, device)
    const ahead = epoch + 3_600_000_000
    await world.tell('n1', {
      disconnect: { deviceId: device.id, belowEpoch: ahead, reason: CloseReason.SUPERSEDED },
    })
    expect(await agent.peer.closed).toBe(closeCode('SUPERSEDED'))
    const again = await admitted(dial, device)
    expect(again.epoch).toBeGreaterThan(ahead)
  })
})

describe('what comes down', () => {
  it('is forwarded with the next seq, byte for byte behind it', async () => {
    const { dial } = await world.gateway({}, 'n1')
    const device = world.device()
    const { agent, epoch } = await admitted(dial, device)
    await world.tell('n1', { deliver: { deviceId: device.id, epoch, frame } })
    const { seq, resultAck } = await agent.next()
    expect([seq, resultAck?.commandId]).toEqual([2, commandId])
  })

  it('for another epoch or an unknown device is refused and counted', async () => {
    const { dial, gateway } = await world.gateway({}, 'n1')
    const device = world.device()
    const { epoch } = await admitted(dial, device)
    await world.tell('n1', { deliver: { deviceId: device.id, epoch: epoch - 1, frame } })
    await world.tell('n1', { deliver: { deviceId: world.device().id, frame } })
    await world.bus.publish('edge:all', Buffer.from([0xff]))
    await until(() => Object.keys(gateway.stats().counters.dropped).length === 3)
    expect(gateway.stats().counters.dropped).toEqual({
      deliver_stale_epoch: 1,
      deliver_unknown_device: 1,
      bad_edge_message: 1,
    })
  })

  it('to a peer that does not read is held up to a bound, then its connection goes', async () => {
    const { dial, gateway } = await world.gateway({ limits: { maxBacklogBytes: 10_000 } }, 'n1')
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.peer.pause()
    const large = encodeBody({ command: { body: randomBytes(4_000) } })
    for (let n = 0; n < 2; n++) await world.tell('n1', { deliver: { deviceId: device.id, frame: large } })
    await until(() => gateway.stats().counters.framesQueued === 2)
    await world.tell('n1', { deliver: { deviceId: device.id, frame: large } })
    await agent.peer.closed
    expect(gateway.stats()).toMatchObject({
      residents: 0,
      counters: { closed: { BACKPRESSURE: 1 }, dropped: { backpressure: 1 } },
    })
  })

  it('to a peer that catches up in time arrives whole and in order', async () => {
    const { dial, gateway } = await world.gateway({}, 'n1')
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.peer.pause()
    for (let n = 0; n < 50; n++) await world.tell('n1', { deliver: { deviceId: device.id, frame } })
    await until(() => gateway.stats().counters.framesQueued === 50)
    agent.peer.resume()
    const seqs = await Promise.all(Array.from({ length: 50 }, async () => (await agent.next()).seq))
    expect(seqs).toEqual(Array.from({ length: 50 }, (_, n) => n + 2))
  })

  it('too many small frames for one slow peer count as well', async () => {
    const { dial } = await world.gateway({ limits: { maxBacklogFrames: 10 } }, 'n1')
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.peer.pause()
    for (let n = 0; n < 11; n++) await world.tell('n1', { deliver: { deviceId: device.id, frame } })
    await agent.peer.closed
    expect(world.gateways[0]?.stats().counters.closed).toEqual({ BACKPRESSURE: 1 })
  })
})

it('a flood of frames is cut before much of it is stored; who says as much in time is not', async () => {
  const { dial, gateway } = await world.gateway({ limits: { frameBurst: 20, framesPerSecond: 1_000 } }, 'n1')
  const [flooding, busy] = [world.device(), world.device()]
  const { agent } = await admitted(dial, flooding)
  const { agent: other } = await admitted(dial, busy)
  for (let n = 0; n < 500; n++) agent.send({ commandResult: { commandId: randomUUID() } })
  expect(await agent.peer.closed).toBe(closeCode('FRAME_RATE'))
  expect((await world.upOf(flooding)).filter((item) => item.commandResult).length).toBeLessThan(400)
  for (let n = 0; n < 60; n++) {
    other.send({ commandResult: { commandId: randomUUID() } })
    if (n % 10 === 9) await pause(50)
  }
  await until(async () => (await world.upOf(busy)).filter((item) => item.commandResult).length === 60)
  expect(gateway.stats().counters.closed).toEqual({ FRAME_RATE: 1 })
})

describe('revocation', () => {
  it('by message cuts the connection and keeps the credential out', async () => {
    const { dial } = await world.gateway({}, 'n1')
    const device = world.device()
    const { agent } = await admitted(dial, device)
    const revocation = { deviceId: device.id, credentialVersion: 1, reason: CloseReason.CREDENTIAL_REVOKED }
    await world.tell('n1', { revocation })
    expect(await agent.peer.closed).toBe(closeCode('CREDENTIAL_REVOKED'))
    // The control plane still answers with the old profile, as a slow one would.
    const late = await connect(dial, device)
    expect((await late.greet()).refused).toMatchObject({ reason: CloseReason.UNAVAILABLE })
  })

  it('whose message was lost acts with the next exchange', async () => {
    const { dial } = await world.gateway({ limits: { exchangeEveryMs: 30 } })
    const device = world.device()
    const { agent } = await admitted(dial, device)
    world.plane.revocations.push({
      deviceId: device.id,
      credentialVersion: 1,
      reason: CloseReason.DECOMMISSIONED,
    })
    expect(await agent.peer.closed).toBe(closeCode('DECOMMISSIONED'))
  })

  it('that acts more than five seconds after it was decided is counted as late', async () => {
    const { gateway, dial } = await world.gateway({}, 'n1')
    const cut = async (agoMs: number) => {
      const device = world.device()
      const { agent } = await admitted(dial, device)
      const atMs = Date.now() - agoMs
      await world.tell('n1', { revocation: { deviceId: device.id, credentialVersion: 1, atMs } })
      await agent.peer.closed
      const { revocations, lateRevocations } = gateway.stats().counters
      return [revocations, lateRevocations]
    }
    expect(await cut(1_000)).toEqual([1, 0])
    expect(await cut(6_500)).toEqual([2, 1])
  })

  it('of an older credential does not cut a connection made with a newer one', async () => {
    const { dial } = await world.gateway({}, 'n1')
    const device = world.device({ credentialVersion: 2 })
    const { agent } = await admitted(dial, device)
    await world.tell('n1', { revocation: { deviceId: device.id, credentialVersion: 1 } })
    agent.send(heartbeat)
    expect((await agent.next()).heartbeatAck).toBeTruthy()
  })
})

describe('a database that was restored', () => {
  it('is asked about everybody: whom it knows stays, whom it does not goes, and nothing earlier counts', async () => {
    world.plane.life = 1_000
    const { dial } = await world.gateway({ limits: { exchangeEveryMs: 30 } })
    const [known, enrolledSince, quarantined, revokedSince] = [
      world.device({ credentialVersion: 5 }),
      world.device(),
      world.device(),
      world.device(),
    ]
    const stays = await admitted(dial, known)
    const goes = await admitted(dial, enrolledSince)
    const held = await admitted(dial, quarantined)
    world.plane.revocations.push({ deviceId: revokedSince.id, credentialVersion: 1, life: 1_000 })
    await until(() => world.plane.requests.some(({ revocationsSinceMs }) => revocationsSinceMs > 0))
    world.plane.revocations.splice(0)
    world.plane.knows(known, { credentialVersion: 2 })
    world.plane.profiles.delete(enrolledSince.id)
    world.plane.knows(quarantined, { standing: svc.v1.Standing.STANDING_QUARANTINED })
    const before = world.plane.requests.length
    world.plane.life = 2_000
    expect(await goes.agent.peer.closed).toBe(closeCode('CREDENTIAL_INVALID'))
    expect(await held.agent.peer.closed).toBe(closeCode('QUARANTINED'))
    // All that is dead in this life is asked for once.
    await until(() =>
      world.plane.requests.slice(before).some(({ revocationsSinceMs }) => revocationsSinceMs === 0),
    )
    const again = await connect(dial, enrolledSince)
    expect((await again.greet()).refused).toMatchObject({
      reason: CloseReason.CREDENTIAL_INVALID,
      retryAfterMs: 0,
    })
    await admitted(dial, revokedSince)
    stays.agent.send(heartbeat)
    expect((await stays.agent.next()).heartbeatAck).toBeTruthy()
    // Its credential is the one that is known now, and dies as that one.
    world.plane.revocations.push({
      deviceId: known.id,
      credentialVersion: 2,
      reason: CloseReason.DECOMMISSIONED,
    })
    expect(await stays.agent.peer.closed).toBe(closeCode('DECOMMISSIONED'))
  })
})

describe('drain', () => {
  it('asks everybody to move within a window, takes nobody in, and ends when they have gone', async () => {
    const { dial, gateway } = await world.gateway({ limits: { minMoveWindowMs: 20_000, moveGraceMs: 100 } })
    const device = world.device()
    const { agent } = await admitted(dial, device)
    const newcomer = await connect(dial, world.device())
    const drained = gateway.drain()
    expect((await agent.next()).move).toMatchObject({ afterMs: 20_000, reason: CloseReason.DRAINING })
    expect((await newcomer.next()).refused).toMatchObject({ reason: CloseReason.DRAINING })
    expect(await dial({ authorization: `Bearer ${device.token}`, protocol: 'svc.agent.v1' })).toBe(503)
    agent.send({ commandResult: { commandId } })
    await until(async () => (await world.upOf(device)).some((item) => item.commandResult))
    agent.peer.close()
    const started = performance.now()
    await drained
    expect(performance.now() - started).toBeLessThan(15_000)
  })

  it('closes those that stay, and hands on everything first', async () => {
    const { dial, gateway } = await world.gateway({
      limits: { minMoveWindowMs: 30, moveGraceMs: 10, flushEveryMs: 60_000 },
    })
    const device = world.device()
    const { agent } = await admitted(dial, device)
    agent.send(heartbeat)
    await gateway.drain()
    expect(await agent.peer.closed).toBe(closeCode('DRAINING'))
    const items = await world.upOf(device)
    expect(items.map((item) => Boolean(item.session))).toEqual([true, false, true])
    expect(items.at(-1)?.session).toMatchObject({ reason: CloseReason.DRAINING })
  })

  it('is bounded although the bus is away', async () => {
    const { dial, gateway } = await world.gateway({
      limits: { minMoveWindowMs: 10, moveGraceMs: 10, flushWithinMs: 100 },
    })
    await admitted(dial, world.device())
    world.bus.switch(false)
    const started = performance.now()
    await gateway.drain()
    expect(performance.now() - started).toBeLessThan(15_000)
  })
})
