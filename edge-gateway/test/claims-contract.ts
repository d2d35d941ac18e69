import { randomBytes } from 'node:crypto'
import { makeDeviceToken, svc, tokenHash } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import type { Claims } from '../src/claims/claims.ts'
import { type Device, newDevice, sha256 } from './wire.ts'

const { Standing } = svc.v1

export interface ClaimsUnderTest {
  claims: Claims
  /** Makes everything that is remembered so old that nobody is refused by it. */
  age: (device: Device) => Promise<void>
}

const profileOf = (device: Device, more: svc.v1.IDeviceProfile = {}): svc.v1.IDeviceProfile => ({
  deviceId: device.id,
  standing: Standing.ACTIVE,
  tokenSha256: sha256(device),
  credentialVersion: 1,
  heartbeatIntervalMs: 60_000,
  epochFloor: 0,
  ...more,
})

/** Held to by every implementation of `Claims`. */
export function claimsContract(make: () => ClaimsUnderTest): void {
  const nowUs = () => Date.now() * 1000
  const known = async (more: svc.v1.IDeviceProfile = {}) => {
    const { claims, age } = make()
    const device = newDevice()
    await claims.remember([profileOf(device, more)])
    const admit = (node = 'n1', at = nowUs(), tokenSha256 = sha256(device), life = 0) =>
      claims.admit({ deviceId: device.id, tokenSha256, node, nowUs: at, life, asked: true })
    return { claims, device, admit, age: () => age(device) }
  }

  describe('admit', () => {
    it('knows nothing of a device that nobody told it of', async () => {
      const device = newDevice()
      const request = {
        deviceId: device.id,
        tokenSha256: sha256(device),
        node: 'n1',
        nowUs: nowUs(),
        life: 0,
        asked: true,
      }
      expect(await make().claims.admit(request)).toEqual({ kind: 'miss' })
    })

    it('admits who has the credential, at an epoch of now, exact to the microsecond', async () => {
      const { admit } = await known({ credentialVersion: 3, heartbeatIntervalMs: 5_000 })
      const at = nowUs() + 123
      expect(await admit('n1', at)).toEqual({
        kind: 'admitted',
        epoch: at,
        credentialVersion: 3,
        heartbeatIntervalMs: 5_000,
        renewAtMs: 0,
      })
    })

    it('asks about a token that it does not know, before it refuses it', async () => {
      const { claims, device } = await known()
      const tokenSha256 = tokenHash(makeDeviceToken(device.id))
      const request = { deviceId: device.id, tokenSha256, node: 'n1', nowUs: nowUs(), life: 0 }
      expect(await claims.admit({ ...request, asked: false })).toEqual({ kind: 'miss' })
      expect(await claims.admit({ ...request, asked: true })).toMatchObject({ reason: 'CREDENTIAL_INVALID' })
    })

    it('tells when the token is to be renewed', async () => {
      const { admit } = await known({ renewAtMs: 1_900_000_000_123 })
      expect(await admit()).toMatchObject({ kind: 'admitted', renewAtMs: 1_900_000_000_123 })
    })

    it('admits a device with a key by a proof of that key alone, each proof once, and takes nothing before', async () => {
      const publicKey = randomBytes(32)
      const { claims, device } = await known({ publicKey })
      const key = publicKey.toString('hex')
      const [at, tokenSha256] = [nowUs(), sha256(device)]
      const admit = (node: string, proven?: { publicKey: string; atUs: number }) =>
        claims.admit({
          deviceId: device.id,
          tokenSha256,
          node,
          nowUs: nowUs(),
          life: 0,
          asked: false,
          proven,
        })
      expect(await admit('n1')).toEqual({ kind: 'prove', publicKey: key })
      const other = { publicKey: randomBytes(32).toString('hex'), atUs: at }
      expect(await admit('n1', other)).toEqual({ kind: 'prove', publicKey: key })
      const first = await admit('n1', { publicKey: key, atUs: at })
      expect(first).toMatchObject({ kind: 'admitted' })
      expect(first).not.toHaveProperty('evict')
      for (const atUs of [at, at - 1])
        expect(await admit('n2', { publicKey: key, atUs })).toEqual({
          kind: 'refused',
          reason: 'PROOF_STALE',
        })
      const next = await admit('n2', { publicKey: key, atUs: at + 1 })
      expect(next).toMatchObject({ kind: 'admitted', evict: { node: 'n1' } })
    })

    it('keeps in mind which proofs were shown, whatever becomes of the credential', async () => {
      const publicKey = randomBytes(32)
      const { claims, device } = await known({ publicKey })
      const proven = { publicKey: publicKey.toString('hex'), atUs: nowUs() }
      const admit = (life: number) =>
        claims.admit({
          deviceId: device.id,
          tokenSha256: sha256(device),
          node: 'n1',
          nowUs: nowUs(),
          life,
          asked: true,
          proven,
        })
      expect(await admit(0)).toMatchObject({ kind: 'admitted' })
      await claims.revoke([{ deviceId: device.id, credentialVersion: 1, life: 7 }])
      await claims.remember([profileOf(device, { publicKey, credentialVersion: 2, life: 8 })])
      expect(await admit(8)).toEqual({ kind: 'refused', reason: 'PROOF_STALE' })
    })

    it('raises the epoch by at least one whatever the clocks say', async () => {
      const { admit } = await known()
      const at = nowUs()
      await admit('n1', at)
      expect(await admit('n1', at)).toMatchObject({ epoch: at + 1 })
      expect(await admit('n1', at - 3_600_000_000)).toMatchObject({ epoch: at + 2 })
    })

    it('stays above the floor', async () => {
      const floor = nowUs() + 9_000_000
      const { admit } = await known({ epochFloor: floor })
      expect(await admit()).toMatchObject({ epoch: floor + 1 })
    })

    it('names whom to evict, and nobody once the claim was given back', async () => {
      const { claims, device, admit } = await known()
      const at = nowUs()
      await admit('n1', at)
      expect(await admit('n2', at + 5)).toMatchObject({ epoch: at + 5, evict: { node: 'n1', epoch: at } })
      await claims.release([{ deviceId: device.id, node: 'n2', epoch: at + 5 }])
      expect(await admit('n3', at + 9)).not.toHaveProperty('evict')
    })

    it('refuses another token while what it knows is recent, and asks again when it is not', async () => {
      const { device, admit, age } = await known()
      const other = tokenHash(makeDeviceToken(device.id))
      expect(await admit('n1', nowUs(), other)).toEqual({ kind: 'refused', reason: 'CREDENTIAL_INVALID' })
      await age()
      expect(await admit('n1', nowUs(), other)).toEqual({ kind: 'miss' })
      expect(await admit()).toMatchObject({ kind: 'admitted' })
    })

    it.each([
      [Standing.STANDING_QUARANTINED, 'QUARANTINED'],
      [Standing.STANDING_DECOMMISSIONED, 'DECOMMISSIONED'],
      [Standing.STANDING_UNSPECIFIED, 'CREDENTIAL_INVALID'],
    ])('refuses standing %i as %s, as long as that is recent', async (standing, reason) => {
      const { admit, age } = await known({ standing })
      expect(await admit()).toEqual({ kind: 'refused', reason })
      await age()
      expect(await admit()).toEqual({ kind: 'miss' })
    })
  })

  describe('revoke', () => {
    it('forgets the profile, and does not take it back from whoever still has it in hand', async () => {
      const { claims, device, admit } = await known()
      await claims.revoke([{ deviceId: device.id, credentialVersion: 1 }])
      expect(await admit()).toEqual({ kind: 'miss' })
      await claims.remember([profileOf(device)])
      expect(await admit()).toEqual({ kind: 'miss' })
    })

    it('also when it came before the profile', async () => {
      const { claims } = make()
      const device = newDevice()
      await claims.revoke([{ deviceId: device.id, credentialVersion: 4 }])
      await claims.remember([profileOf(device, { credentialVersion: 4 })])
      const request = {
        deviceId: device.id,
        tokenSha256: sha256(device),
        node: 'n1',
        nowUs: nowUs(),
        life: 0,
        asked: true,
      }
      expect(await claims.admit(request)).toEqual({ kind: 'miss' })
    })

    it('lets a newer credential in, and leaves one that is known already', async () => {
      const { claims, device, admit } = await known({ credentialVersion: 2 })
      await claims.revoke([{ deviceId: device.id, credentialVersion: 1 }])
      expect(await admit()).toMatchObject({ kind: 'admitted', credentialVersion: 2 })
      await claims.revoke([{ deviceId: device.id, credentialVersion: 2 }])
      await claims.remember([profileOf(device, { credentialVersion: 3 })])
      expect(await admit()).toMatchObject({ kind: 'admitted', credentialVersion: 3 })
    })

    it('does not hide why a device stays out', async () => {
      const { claims, device, admit } = await known()
      await claims.revoke([{ deviceId: device.id, credentialVersion: 1 }])
      await claims.remember([profileOf(device, { standing: Standing.STANDING_QUARANTINED })])
      expect(await admit()).toEqual({ kind: 'refused', reason: 'QUARANTINED' })
    })

    it('keeps the epoch, so that the next one is above it', async () => {
      const { claims, device, admit } = await known()
      const ahead = nowUs() + 60_000_000
      await admit('n1', ahead)
      await claims.revoke([{ deviceId: device.id, credentialVersion: 1 }])
      await claims.remember([profileOf(device, { credentialVersion: 2 })])
      expect(await admit()).toMatchObject({ epoch: ahead + 1 })
    })
  })

  describe('remember', () => {
    it('does not go back to an older credential', async () => {
      const { claims, device, admit } = await known({ credentialVersion: 5 })
      await claims.remember([profileOf(device, { credentialVersion: 4, tokenSha256: tokenHash('old') })])
      expect(await admit()).toMatchObject({ kind: 'admitted', credentialVersion: 5 })
    })

    it('keeps the claim and the epoch', async () => {
      const { claims, device, admit } = await known()
      const at = nowUs() + 60_000_000
      await admit('n1', at)
      await claims.remember([profileOf(device, { heartbeatIntervalMs: 1 })])
      expect(await admit('n2')).toMatchObject({
        epoch: at + 1,
        evict: { node: 'n1', epoch: at },
        heartbeatIntervalMs: 1,
      })
    })
  })

  describe('release and hold', () => {
    it('a late release gives back nothing that somebody else has taken', async () => {
      const { claims, device, admit } = await known()
      const at = nowUs()
      await admit('n1', at)
      await admit('n2', at + 1)
      await claims.release([{ deviceId: device.id, node: 'n1', epoch: at }])
      await claims.release([{ deviceId: device.id, node: 'n2', epoch: at }])
      await claims.release([{ deviceId: device.id, node: 'n1', epoch: at + 1 }])
      expect(await admit('n3', at + 2)).toMatchObject({ evict: { node: 'n2', epoch: at + 1 } })
    })

    it('takes claims for connections that exist, and says which of them are superseded', async () => {
      const { claims, device, admit } = await known()
      const other = newDevice()
      const at = nowUs()
      await admit('n2', at)
      const lost = { deviceId: device.id, node: 'n1', epoch: at - 1 }
      const held = { deviceId: other.id, node: 'n1', epoch: at }
      expect(await claims.hold([lost, held])).toEqual([lost])
      await claims.remember([profileOf(other)])
      const next = await claims.admit({
        deviceId: other.id,
        tokenSha256: sha256(other),
        node: 'n3',
        nowUs: at,
        life: 0,
        asked: true,
      })
      expect(next).toMatchObject({ epoch: at + 1, evict: { node: 'n1', epoch: at } })
    })

    it('raises the epoch without taking the claim from whoever has it', async () => {
      const { claims, device, admit } = await known()
      const at = nowUs()
      await admit('n1', at)
      expect(await claims.hold([{ deviceId: device.id, node: '', epoch: at + 50 }])).toEqual([])
      expect(await admit('n2', at)).toMatchObject({ epoch: at + 51, evict: { node: 'n1', epoch: at + 50 } })
    })
  })

  describe('another life of the database', () => {
    const [first, second] = [1_000, 2_000]

    it('is asked about everybody anew, and goes on with the epochs', async () => {
      const { claims, device, admit } = await known({ life: first })
      const at = nowUs()
      const of = (life: number) => admit('n1', at, sha256(device), life)
      expect(await of(first)).toMatchObject({ kind: 'admitted', epoch: at })
      expect(await of(second)).toEqual({ kind: 'miss' })
      await claims.remember([profileOf(device, { life: second })])
      expect(await of(second)).toMatchObject({ kind: 'admitted', epoch: at + 1 })
      // A node that has not heard of it yet does not turn back time.
      expect(await of(first)).toMatchObject({ kind: 'admitted', epoch: at + 2 })
    })

    it('brings back a credential that died in an earlier one, if it says so, and no late word takes it away', async () => {
      const { claims, device, admit } = await known({ credentialVersion: 3, life: first })
      const of = (life: number) => admit('n1', nowUs(), sha256(device), life)
      await claims.revoke([{ deviceId: device.id, credentialVersion: 3, life: first }])
      expect(await of(first)).toEqual({ kind: 'miss' })
      await claims.remember([profileOf(device, { credentialVersion: 1, life: second })])
      expect(await of(second)).toMatchObject({ kind: 'admitted', credentialVersion: 1 })
      await claims.revoke([{ deviceId: device.id, credentialVersion: 3, life: first }])
      await claims.remember([
        profileOf(device, { credentialVersion: 4, life: first, standing: Standing.STANDING_QUARANTINED }),
      ])
      expect(await of(second)).toMatchObject({ kind: 'admitted', credentialVersion: 1 })
    })

    it('has dead credentials of its own', async () => {
      const { claims, device, admit } = await known({ life: first })
      await claims.revoke([{ deviceId: device.id, credentialVersion: 1, life: second }])
      expect(await admit('n1', nowUs(), sha256(device), second)).toEqual({ kind: 'miss' })
      await claims.remember([profileOf(device, { life: second })])
      expect(await admit('n1', nowUs(), sha256(device), second)).toEqual({ kind: 'miss' })
    })
  })
}
