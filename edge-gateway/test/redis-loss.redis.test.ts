import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeCode, svc } from '@svc/proto'
import { names, RedisBus } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRedis, type Redis as OwnRedis } from '../../tools/services.ts'
import { buildGateway, type Gateway } from '../src/index.ts'
import { ControlPlane } from './control-plane.ts'
import { pause, readUp } from './harness.ts'
import { type Agent, connect, type Device, dialSocket, newDevice } from './wire.ts'

/** Two gateways, one Redis of their own, one control plane. */
let dir: string
let server: OwnRedis
let plane: ControlPlane
let buses: RedisBus[]
let gateways: { gateway: Gateway; url: string }[]

const eventually = async (holds: () => boolean | Promise<boolean>, what: string) => {
  const deadline = Date.now() + 20_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what} did not come true`)
    await pause(20)
  }
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svc-edge-'))
  server = await startRedis({ dir })
  plane = await new ControlPlane().start()
  buses = []
  gateways = []
  for (const node of ['a', 'b']) {
    const bus = new RedisBus(server.url)
    const gateway = buildGateway({
      config: {
        host: '127.0.0.1',
        port: 0,
        mqtt: { host: '127.0.0.1', port: undefined, tlsPort: undefined },
        node,
        metrics: undefined,
        workers: 1,
        redisUrl: server.url,
        exchangeUrls: [plane.url],
        sharedKey: plane.key,
        trustedProxies: [],
        tls: undefined,
        version: '0.0.0-test',
        logLevel: 'silent',
      },
      bus,
      logger: pino({ level: 'silent' }),
      limits: { exchangeEveryMs: 200, flushWithinMs: 1_000 },
    })
    buses.push(bus)
    gateways.push({ gateway, ...(await gateway.listen()) })
  }
})
afterEach(async () => {
  await Promise.all(gateways.map(({ gateway }) => gateway.close()))
  await Promise.all(buses.map((bus) => bus.close()))
  await plane.stop()
  await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

const known = (): Device => {
  const device = newDevice()
  plane.knows(device)
  return device
}

const admitted = async (which: number, device: Device): Promise<{ agent: Agent; epoch: number }> => {
  const agent = await connect(dialSocket(gateways[which]?.url ?? ''), device)
  const answer = await agent.greet()
  if (!answer.welcome) throw new Error(`refused: ${JSON.stringify(answer.refused)}`)
  return { agent, epoch: answer.welcome.epoch ?? 0 }
}

const stats = (which: number) => {
  const found = gateways[which]?.gateway.stats()
  if (!found) throw new Error('no such gateway')
  return found
}

const loseRedis = async () => {
  await server.kill()
  await eventually(() => buses.every((bus) => !bus.up), 'noticing the loss')
}

/** At the same address, empty. */
const bringRedisBack = async () => {
  server = await startRedis({ dir, port: server.port, password: server.password })
  await eventually(() => buses.every((bus) => bus.up), 'the return')
}

describe('two gateways on Redis', () => {
  it('hand a device over: the newer connection wins and the other is told', async () => {
    const device = known()
    const old = await admitted(0, device)
    const young = await admitted(1, device)
    expect(young.epoch).toBeGreaterThan(old.epoch)
    expect(await old.agent.peer.closed).toBe(closeCode('SUPERSEDED'))
    await eventually(() => stats(0).residents === 0, 'the old one leaving')
    await pause(50)
    const redis = new Redis(server.url)
    expect(await redis.hget(names.device(device.id), 'n')).toBe('b')
    redis.disconnect()
  })

  it('reconnect storms ask the control plane nothing', async () => {
    const devices = Array.from({ length: 50 }, known)
    const first = await Promise.all(devices.map((device) => admitted(0, device)))
    const asked = plane.requests.flatMap(({ admissions }) => admissions).length
    await Promise.all(devices.map((device) => admitted(1, device)))
    expect(plane.requests.flatMap(({ admissions }) => admissions)).toHaveLength(asked)
    await Promise.all(first.map(({ agent }) => agent.peer.closed))
    expect([stats(0).residents, stats(1).residents]).toEqual([0, 50])
  })
})

/** What was carried up by the exchange about a device. */
const carried = (device: Device): svc.v1.IUpItem[] => {
  const batches: svc.v1.UpBatch[] = plane.up.map((batch) => svc.v1.UpBatch.decode(batch))
  return batches.flatMap(({ items }) => items).filter(({ deviceId }) => deviceId === device.id)
}

it('a Redis that answers and stores nothing more locks nobody out', async () => {
  const { agent } = await admitted(0, known())
  const redis = new Redis(server.url)
  await redis.config('SET', 'maxmemory', '1')
  const late = await Promise.all([known(), known()].map((device) => admitted(0, device)))
  late.push(await admitted(1, known()))
  expect(stats(0).counters.admittedLocally).toBe(2)
  await redis.config('SET', 'maxmemory', '0')
  redis.disconnect()
  const admittedThere = async () => {
    const before = stats(0).counters.admittedLocally
    await admitted(0, known())
    return stats(0).counters.admittedLocally === before
  }
  await eventually(admittedThere, 'its use')
  for (const one of [agent, ...late.map((each) => each.agent)]) {
    one.send({ heartbeat: {} })
    expect((await one.next()).heartbeatAck).toBeTruthy()
  }
})

describe('losing Redis', () => {
  const commandId = '018f0000-0000-7000-8000-0000000000aa'

  it('cuts nobody, locks nobody out, and what agents say goes up another way', async () => {
    const [settled, late] = [known(), known()]
    const { agent } = await admitted(0, settled)
    await loseRedis()
    agent.send({ commandResult: { commandId } })
    agent.send({ heartbeat: {} })
    expect((await agent.next()).heartbeatAck).toBeTruthy()
    await admitted(1, late)
    expect(stats(1).counters.admittedLocally).toBe(1)
    await eventually(
      () => carried(settled).some((item) => item.commandResult?.commandId === commandId),
      'the result',
    )
    await eventually(() => carried(late).filter((item) => item.session).length === 1, 'the connect')

    await bringRedisBack()
    const bus = buses[0]
    if (!bus) throw new Error('no bus')
    const read = readUp(bus)
    const ids: (string | null | undefined)[] = []
    agent.send({ heartbeat: {} })
    await eventually(async () => {
      ids.push(...(await read()).flatMap(({ items }) => items).map((item) => item.deviceId))
      return ids.includes(settled.id)
    }, 'the streams being used again')
  })

  it('holds what agents say for a control plane that does not take it, and loses none of it', async () => {
    plane.takesUp = false
    const device = known()
    const { agent } = await admitted(0, device)
    await loseRedis()
    agent.send({ commandResult: { commandId } })
    await eventually(() => stats(0).counters.carryFailures > 0, 'an attempt')
    await bringRedisBack()
    await eventually(() => stats(0).uplink.items === 0, 'catching up')
    const bus = buses[0]
    if (!bus) throw new Error('no bus')
    const items = (await readUp(bus)()).flatMap((batch) => batch.items)
    expect(items.some((item) => item.commandResult?.commandId === commandId)).toBe(true)
  })

  it('that hangs is noticed: what agents say goes up another way within seconds', async () => {
    const device = known()
    const { agent } = await admitted(0, device)
    process.kill(server.pid, 'SIGSTOP')
    try {
      const began = performance.now()
      agent.send({ commandResult: { commandId } })
      await eventually(() => carried(device).some((item) => item.commandResult), 'the result')
      // An append or a ping that is not answered within 2 s; pings go out every second. Nobody waits until it goes on.
      expect(performance.now() - began).toBeLessThan(15_000)
    } finally {
      process.kill(server.pid, 'SIGCONT')
    }
  })

  it('an empty Redis learns who is connected where, so that a takeover still works', async () => {
    const [before, during] = [known(), known()]
    const first = await admitted(0, before)
    await loseRedis()
    const second = await admitted(0, during)
    await bringRedisBack()
    const redis = new Redis(server.url)
    await eventually(async () => (await redis.hget(names.device(during.id), 'n')) === 'a', 'the claim')
    redis.disconnect()
    for (const [old, device] of [
      [first, before],
      [second, during],
    ] as const) {
      const young = await admitted(1, device)
      expect(young.epoch).toBeGreaterThan(old.epoch)
      expect(await old.agent.peer.closed).toBe(closeCode('SUPERSEDED'))
    }
  })

  /** Connects each device here, then there, and expects that the first connection is told. */
  const takenOver = async (devices: Device[], meanwhile: () => Promise<void>, after: () => Promise<void>) => {
    const old = await Promise.all(devices.map((device) => admitted(0, device)))
    await meanwhile()
    const young = await Promise.all(devices.map((device) => admitted(1, device)))
    await after()
    for (const [i, { agent, epoch }] of old.entries()) {
      expect(young[i]?.epoch).toBeGreaterThan(epoch)
      expect(await agent.peer.closed).toBe(closeCode('SUPERSEDED'))
    }
  }

  it('a takeover that the other node did not hear of is found out', async () => {
    const redis = new Redis(server.url)
    await takenOver(
      Array.from({ length: 20 }, known),
      async () => void (await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')),
      async () => {},
    )
    redis.disconnect()
  })

  it('a takeover by what a node remembers is told when the claims are shared again, whoever tells first', async () => {
    const redis = new Redis(server.url)
    for (let time = 0; time < 3; time++)
      await takenOver(
        Array.from({ length: 5 }, known),
        async () => void (await redis.config('SET', 'maxmemory', '1')),
        async () => void (await redis.config('SET', 'maxmemory', '0')),
      )
    redis.disconnect()
  })

  it('what was revoked meanwhile is cut at once and stays dead when an old profile comes back', async () => {
    const device = known()
    const { agent } = await admitted(0, device)
    await loseRedis()
    plane.revocations.push({
      deviceId: device.id,
      credentialVersion: 1,
      reason: svc.v1.CloseReason.CREDENTIAL_REVOKED,
    })
    expect(await agent.peer.closed).toBe(closeCode('CREDENTIAL_REVOKED'))
    await bringRedisBack()
    await pause(300)
    const again = await connect(dialSocket(gateways[1]?.url ?? ''), device)
    expect((await again.greet()).refused).toBeTruthy()
  })

  it('what is revoked while Redis hangs is cut at once all the same, and does not come back in', async () => {
    const device = known()
    const { agent } = await admitted(0, device)
    process.kill(server.pid, 'SIGSTOP')
    try {
      const began = performance.now()
      plane.revocations.push({
        deviceId: device.id,
        credentialVersion: 1,
        reason: svc.v1.CloseReason.CREDENTIAL_REVOKED,
      })
      expect(await agent.peer.closed).toBe(closeCode('CREDENTIAL_REVOKED'))
      expect(performance.now() - began).toBeLessThan(1_500) // before the store's own time is up
      const again = await connect(dialSocket(gateways[0]?.url ?? ''), device)
      expect((await again.greet()).refused).toBeTruthy()
    } finally {
      process.kill(server.pid, 'SIGCONT')
    }
  })
})
