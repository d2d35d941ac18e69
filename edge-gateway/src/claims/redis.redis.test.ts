import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { claimsContract } from '../../test/claims-contract.ts'
import { newDevice, sha256 } from '../../test/wire.ts'
import { ClaimsDown, ttl } from './claims.ts'
import { RedisClaims } from './redis.ts'

describe('claims in Redis', () => {
  let claims: RedisClaims
  let redis: Redis
  beforeAll(async () => {
    redis = new Redis(inject('redisUrl'))
    claims = new RedisClaims(inject('redisUrl'))
    await claims.ready()
  })
  afterAll(async () => {
    await claims.close()
    redis.disconnect()
  })

  claimsContract(() => ({
    claims,
    age: async (device) => {
      await redis.hincrby(names.device(device.id), 'r', -6_000_000)
    },
  }))

  const request = (device = newDevice()) => ({
    deviceId: device.id,
    tokenSha256: sha256(device),
    node: 'n1',
    nowUs: Date.now() * 1000,
    life: 0,
    asked: true,
  })

  it('leave no key without an end', async () => {
    const [active, unknown, dead, held] = [newDevice(), newDevice(), newDevice(), newDevice()]
    await claims.remember([
      { deviceId: active.id, standing: 1, tokenSha256: sha256(active), credentialVersion: 1 },
      { deviceId: unknown.id },
    ])
    await claims.admit(request(active))
    await claims.revoke([{ deviceId: dead.id, credentialVersion: 1 }])
    await claims.hold([{ deviceId: held.id, node: 'n1', epoch: 5 }])
    const left = await Promise.all(
      [active, unknown, dead, held].map(({ id }) => redis.pttl(names.device(id))),
    )
    const limits = [ttl.profileMs, ttl.unknownMs, ttl.deadMs, ttl.profileMs]
    left.forEach((ms, i) => {
      expect(ms).toBeGreaterThan((limits[i] ?? 0) - 10_000)
      expect(ms).toBeLessThanOrEqual(limits[i] ?? 0)
    })
  })

  it('let nobody in by what a gateway wrote that knows of no keys', async () => {
    const device = newDevice()
    const profile = { deviceId: device.id, standing: 1, tokenSha256: sha256(device), credentialVersion: 1 }
    await claims.remember([profile])
    await redis.hdel(names.device(device.id), 'k')
    expect(await claims.admit(request(device))).toEqual({ kind: 'miss' })
    await claims.remember([{ ...profile, publicKey: Buffer.alloc(32, 7) }])
    expect(await claims.admit(request(device))).toEqual({ kind: 'prove', publicKey: '07'.repeat(32) })
  })

  it('admit in one round trip', async () => {
    const device = newDevice()
    await claims.remember([
      { deviceId: device.id, standing: 1, tokenSha256: sha256(device), credentialVersion: 1 },
    ])
    await claims.admit(request(device))
    // Other files share this server: what it was asked about this device alone is counted.
    const asked: string[] = []
    const monitor = await redis.monitor()
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source !== 'lua' && args.some((arg) => arg.includes(device.id))) asked.push(args[0] ?? '')
    })
    for (let n = 0; n < 10; n++) await claims.admit(request(device))
    await redis.hexists(names.device(device.id), 'last')
    await expect.poll(() => asked.at(-1)).toBe('hexists')
    monitor.disconnect()
    expect(asked).toHaveLength(11)
  })

  it('tell the node that loses a device, whether or not whoever takes it hears the answer', async () => {
    const device = newDevice()
    const told: unknown[] = []
    const listening = redis.duplicate()
    listening.on('messageBuffer', (channel: Buffer, message: Buffer) =>
      told.push([String(channel), svc.v1.EdgeMessage.decode(message).disconnect]),
    )
    await listening.subscribe(names.edge('n1'), names.edge('n2'))
    await claims.remember([
      { deviceId: device.id, standing: 1, tokenSha256: sha256(device), credentialVersion: 1 },
    ])
    const epochs: number[] = []
    for (const node of ['n1', 'n1', 'n2']) {
      const answer = await claims.admit({ ...request(device), node })
      epochs.push(answer.kind === 'admitted' ? answer.epoch : 0)
    }
    const held = (epochs[2] ?? 0) + 7
    await claims.hold([{ deviceId: device.id, node: '', epoch: held - 1 }])
    await claims.hold([{ deviceId: device.id, node: 'n1', epoch: held }])
    const superseded = { deviceId: device.id, reason: svc.v1.CloseReason.SUPERSEDED }
    await expect
      .poll(() => told)
      .toMatchObject([
        [names.edge('n1'), { ...superseded, belowEpoch: epochs[2] }],
        [names.edge('n2'), { ...superseded, belowEpoch: held }],
      ])
    listening.disconnect()
  })

  it('say so when they cannot be reached', async () => {
    const away = new RedisClaims('redis://127.0.0.1:1')
    await expect(away.admit(request())).rejects.toThrow(ClaimsDown)
    await expect(away.revoke([{ deviceId: newDevice().id, credentialVersion: 1 }])).rejects.toThrow(
      ClaimsDown,
    )
    await away.close()
  })
})
