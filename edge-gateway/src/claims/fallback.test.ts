import { describe, expect, it } from 'vitest'
import { newDevice, sha256 } from '../../test/wire.ts'
import { type Claim, ClaimsDown } from './claims.ts'
import { FallbackClaims } from './fallback.ts'
import { MemoryClaims } from './memory.ts'

/** A shared store that takes its time to hold claims, and can be away. */
class SlowStore extends MemoryClaims {
  away = false
  /** called while claims are being held */
  meanwhile: () => Promise<void> = async () => {}

  override async hold(claims: readonly Claim[]) {
    if (this.away) throw new ClaimsDown('away')
    await this.meanwhile()
    return super.hold(claims)
  }

  override async release(claims: readonly Claim[]) {
    if (this.away) throw new ClaimsDown('away')
    return super.release(claims)
  }
}

const world = () => {
  const store = new SlowStore()
  const local = new MemoryClaims()
  const claims = new FallbackClaims(store, local, () => {})
  const here: Claim[] = []
  const device = newDevice()
  const profile = { deviceId: device.id, standing: 1, tokenSha256: sha256(device), credentialVersion: 1 }
  const request = {
    deviceId: device.id,
    tokenSha256: sha256(device),
    node: 'here',
    nowUs: 5,
    life: 0,
    asked: true,
  }
  const enter = async () => {
    const answer = await claims.admit(request)
    if (answer.kind === 'admitted') here.push({ deviceId: device.id, node: 'here', epoch: answer.epoch })
    return answer
  }
  return { store, claims, here, held: () => [...here], profile, request, enter }
}

describe('the shared claims, when they come back', () => {
  it('learn of who is let in while they are told who is here', async () => {
    const { store, claims, held, profile, request, enter } = world()
    await claims.remember([profile])
    store.meanwhile = async () => {
      store.meanwhile = async () => {}
      expect(await enter()).toMatchObject({ kind: 'admitted' })
    }
    await claims.recover(held)
    expect(claims.sound).toBe(true)
    await store.remember([profile])
    expect(await store.admit({ ...request, node: 'there' })).toMatchObject({
      evict: { node: 'here', epoch: 5 },
    })
  })

  it('know what dies while they are told who is here, before they are asked', async () => {
    const { store, claims, held, profile, enter } = world()
    await store.remember([profile])
    store.meanwhile = () => claims.revoke([{ deviceId: profile.deviceId, credentialVersion: 1 }])
    await claims.recover(held)
    expect(await enter()).toEqual({ kind: 'miss' })
  })

  it.each(['before that was noticed', 'while it was known'])('learn of who left %s', async (when) => {
    const { store, claims, here, held, profile, request, enter } = world()
    await claims.recover(held)
    await claims.remember([profile])
    expect(await enter()).toMatchObject({ kind: 'admitted' })
    store.away = true
    if (when === 'while it was known') claims.lost()
    await claims.release(here.splice(0))
    store.away = false
    await claims.recover(held)
    expect(await store.admit({ ...request, node: 'there' })).not.toHaveProperty('evict')
  })

  it('do not lose who came back meanwhile', async () => {
    const { store, claims, here, held, profile, request, enter } = world()
    await claims.recover(held)
    await claims.remember([profile])
    await enter()
    store.away = true
    await claims.release(here.splice(0))
    store.away = false
    await claims.remember([profile])
    request.nowUs++
    await enter()
    await claims.recover(held)
    expect(await store.admit({ ...request, node: 'there' })).toMatchObject({ evict: { node: 'here' } })
  })

  it('are not counted on where telling them has failed', async () => {
    const { store, claims, held } = world()
    store.away = true
    await expect(claims.recover(held)).rejects.toBeInstanceOf(ClaimsDown)
    expect(claims.sound).toBe(false)
  })
})
