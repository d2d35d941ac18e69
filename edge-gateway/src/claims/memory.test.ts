import { describe, expect, it } from 'vitest'
import { claimsContract } from '../../test/claims-contract.ts'
import { newDevice, sha256 } from '../../test/wire.ts'
import { ttl } from './claims.ts'
import { MemoryClaims } from './memory.ts'

describe('claims in memory', () => {
  let lead = 0
  claimsContract(() => ({
    claims: new MemoryClaims(() => Date.now() + lead),
    age: async () => {
      lead += 6_000
    },
  }))

  it('forget what has not been needed for a day', async () => {
    let now = Date.now()
    const claims = new MemoryClaims(() => now)
    const device = newDevice()
    await claims.remember([
      { deviceId: device.id, standing: 1, tokenSha256: sha256(device), credentialVersion: 1 },
    ])
    const admit = () =>
      claims.admit({
        deviceId: device.id,
        tokenSha256: sha256(device),
        node: 'n',
        nowUs: now * 1000,
        life: 0,
        asked: true,
      })
    expect(await admit()).toMatchObject({ kind: 'admitted' })
    now += ttl.profileMs + 1
    expect(await admit()).toEqual({ kind: 'miss' })
  })

  it('list what is dead, and keep just that when they shrink', async () => {
    const claims = new MemoryClaims()
    const [dead, alive] = [newDevice(), newDevice()]
    await claims.remember([
      { deviceId: alive.id, standing: 1, tokenSha256: sha256(alive), credentialVersion: 1 },
    ])
    await claims.revoke([{ deviceId: dead.id, credentialVersion: 7, life: 0 }])
    claims.shrink()
    expect(claims.revocations()).toEqual([{ deviceId: dead.id, credentialVersion: 7, life: 0 }])
    const request = {
      deviceId: alive.id,
      tokenSha256: sha256(alive),
      node: 'n',
      nowUs: 1,
      life: 0,
      asked: true,
    }
    expect(await claims.admit(request)).toEqual({ kind: 'miss' })
  })
})
