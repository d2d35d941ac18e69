import { generateKeyPairSync } from 'node:crypto'
import { openManifest, releaseKey as readKey, svc } from '@svc/proto'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { edgeMessages, framesIn, item, openPipeline } from '../../../test/harness/pipeline.ts'
import { releaseKeyId, releasePublicKey } from '../../../test/harness/release.ts'
import { type Machine, status, updatesOn } from '../../../test/harness/updates.ts'
import type { InboxDeps } from '../../inbox/inbox.ts'
import { followOwedHints } from '../../inbox/owed-hints.ts'
import { tellReleases } from '../work/hints.ts'
import { claimOffers } from './rows.ts'

const on = await openPipeline({ releasesMs: 60_000 })
afterAll(() => on.close())
const { sql, db, deps } = on
const edge = await edgeMessages(on.bus, 'n1')
const scene = updatesOn(on)
const { machine, release, handle, beat } = scene

beforeEach(async () => {
  await scene.clear()
  edge.length = 0
})

/** What was offered since the last look, as `component version`. */
const offers = () => {
  const found = framesIn(edge.splice(0)).flatMap((frame) => frame.updateOffer ?? [])
  return found.map(({ component, version }) => `${component} ${version}`)
}
const configs = () =>
  framesIn(edge.splice(0)).flatMap(({ configUpdate }) =>
    configUpdate ? [[Number(configUpdate.version), configUpdate.autoUpdate]] : [],
  )

describe('a release', () => {
  test('is offered with the next heartbeat of a device that is behind, with all that proves it', async () => {
    const id = await machine({ osType: 'macos', architecture: 'aarch64' })
    const manifest = await release('1.1.0')
    await beat(id)
    const [message] = edge
    expect(message?.deliver).toMatchObject({ deviceId: id, epoch: 7 })
    const offer = framesIn(edge)[0]?.updateOffer
    const asset = manifest.assets.find(({ os, arch }) => os === 'macos' && arch === 'arm64')
    expect(offer).toMatchObject({
      component: 'agent',
      version: '1.1.0',
      url: '/api/v1/agents/download/macos/arm64?version=1.1.0&component=agent',
      keyId: releaseKeyId,
    })
    expect([Number(offer?.size), Number(offer?.sequence)]).toEqual([asset?.size, 1])
    expect(Number(offer?.expiresAtMs)).toBe(new Date(manifest.expiresAt).getTime())
    expect(Buffer.from(offer?.sha256 ?? []).toString('hex')).toBe(asset?.sha256)
    const { keyId, key } = readKey(releasePublicKey)
    const none = new Uint8Array()
    expect(
      openManifest(offer?.manifest ?? none, offer?.signature ?? none, keyId, new Map([[keyId, key]])),
    ).toEqual(manifest)
  })

  test('is not offered twice: not with the next heartbeat, by another worker, or after a restart', async () => {
    const id = await machine()
    await release('1.1.0')
    await beat(id)
    expect(offers()).toEqual(['agent 1.1.0'])
    await beat(id)
    await handle([item.beat(id, 7)], scene.fresh())
    scene.restart()
    await beat(id)
    expect(offers()).toEqual([])
  })

  test('is offered once by workers that see two heartbeats at the same moment', async () => {
    const id = await machine()
    await release('1.1.0')
    await Promise.all([1, 2, 3, 4].map(() => handle([item.beat(id, 7)], scene.fresh())))
    expect(offers()).toEqual(['agent 1.1.0'])
  })

  test('is offered again after its time, and a newer one at once', async () => {
    const id = await machine()
    await release('1.1.0')
    await beat(id)
    await sql`update device_updates set offered_at = now() - interval '11 minutes'`
    scene.restart()
    await beat(id)
    expect(offers()).toEqual(['agent 1.1.0', 'agent 1.1.0'])
    await release('1.2.0')
    await beat(id)
    expect(offers()).toEqual(['agent 1.2.0'])
  })

  test.each<[string, Machine, svc.v1.IHeartbeat?]>([
    ['with self-update switched off', { autoUpdate: false }],
    ['in quarantine', { lifecycle: 'quarantined' }],
    ['that runs it already', {}, { agentVersion: '1.1.0' }],
    ['that runs a newer one', {}, { agentVersion: '2.0.0' }],
    ['that runs a build of somebody’s own', {}, { agentVersion: 'dev' }],
    ['that says no version', {}, { agentVersion: '' }],
    ['of an architecture that there is none for', { architecture: 'riscv64' }],
    ['of no known architecture', { architecture: null }],
    ['whose watchdog alone is heard', {}, { role: svc.v1.AgentRole.WATCHDOG }],
  ])('is not offered to a device %s', async (_, facts, heartbeat) => {
    const id = await machine(facts)
    await release('1.1.0')
    await beat(id, heartbeat)
    expect(offers()).toEqual([])
    expect(await sql`select from device_updates`).toHaveLength(0)
  })

  test('is not offered where self-update was switched off, or the device cut off, since it was looked up', async () => {
    const [off, gone] = [await machine({ autoUpdate: false }), await machine({ lifecycle: 'decommissioned' })]
    const claims = [off, gone].map((deviceId) => ({
      deviceId,
      component: 'agent' as const,
      version: '1.1.0',
    }))
    expect(await db.tx((tx) => claimOffers(tx, claims, 1))).toEqual([])
  })

  test('is offered to whoever runs its candidate; a candidate is offered to nobody', async () => {
    const id = await machine()
    await release('1.1.0-rc.1')
    await beat(id)
    expect(offers()).toEqual([])
    await release('1.1.0')
    await beat(id, { agentVersion: '1.1.0-rc.1' })
    expect(offers()).toEqual(['agent 1.1.0'])
  })

  test('that has expired, or whose key is trusted no more, is offered to nobody', async () => {
    const id = await machine()
    const past = { releasedAt: new Date(Date.now() - 2_000), expiresAt: new Date(Date.now() - 1_000) }
    await release('1.1.0', past)
    await beat(id)
    await release('1.2.0', { key: generateKeyPairSync('ed25519').privateKey })
    await beat(id)
    expect(offers()).toEqual([])
  })

  test('of a helper is offered where one reports', async () => {
    const [without, behind] = [await machine(), await machine()]
    await release('1.1.0', { files: { helper: Buffer.from('helper') } })
    await beat(without)
    await beat(behind, { helperVersion: '1.0.0' })
    expect(offers()).toEqual(['helper 1.1.0'])
  })

  test('that nobody heard of is offered again with the next heartbeat', async () => {
    const id = await machine()
    await release('1.1.0')
    const deaf: InboxDeps = {
      ...scene.worker,
      ports: { ...scene.worker.ports, bus: { up: true, publish: async () => 0 } },
    }
    await handle([item.beat(id, 7)], deaf)
    await beat(id)
    expect(offers()).toEqual(['agent 1.1.0'])
  })

  test('rests for a day once it failed three times, and then has another try', async () => {
    const id = await machine()
    await release('1.1.0')
    for (let i = 1; i <= 3; i++) {
      await sql`update device_updates set offered_at = now() - interval '11 minutes'`
      scene.restart()
      await beat(id)
      await handle([status(id, 'UPDATE_FAILED', { reason: 'bad_hash', atMs: i })])
    }
    expect(offers()).toEqual(['agent 1.1.0', 'agent 1.1.0', 'agent 1.1.0'])
    await sql`update device_updates set offered_at = now() - interval '2 hours'`
    scene.restart()
    await beat(id)
    expect(offers()).toEqual([])
    await sql`update device_updates set failed_since = now() - interval '25 hours'`
    scene.restart()
    await beat(id)
    expect(offers()).toEqual(['agent 1.1.0'])
  })

  test('registered elsewhere is known at the hint', async () => {
    const id = await machine()
    await beat(id)
    const bystander = scene.worker
    scene.restart()
    await release('1.1.0')
    scene.worker = bystander
    await beat(id)
    expect(offers()).toEqual([])
    const unfollow = await followOwedHints(
      { ...deps, ports: { ...deps.ports, ...scene.worker.ports, bus: on.bus } },
      () => true,
    )
    await tellReleases(on.bus)
    await new Promise((resolve) => setImmediate(resolve))
    await unfollow()
    await beat(id)
    expect(offers()).toEqual(['agent 1.1.0'])
  })

  test('a fleet that is where it is to be costs no question; one that cannot get there, one now and then', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => machine({ autoUpdate: false })))
    await release('1.1.0')
    await beat(ids[0] ?? '')
    let questions = 0
    const rows = (...args: Parameters<typeof db.rows>) => (questions++, db.rows(...args))
    const counting = { ...scene.worker, db: { ...db, rows } as typeof db }
    const batch = async (heartbeat: svc.v1.IHeartbeat) => {
      questions = 0
      await handle(
        ids.map((id) => item.beat(id, 7, heartbeat)),
        counting,
      )
      return questions
    }
    const owed = 1 // what is owed is asked for each time
    expect(await batch({ agentVersion: '1.1.0' })).toBe(owed)
    expect(await batch({ agentVersion: '1.0.0' })).toBe(owed + 1)
    expect(await batch({ agentVersion: '1.0.0' })).toBe(owed)
  })
})

describe('the configuration', () => {
  test('goes to a device that reports another, with what it is to be', async () => {
    const id = await machine({ autoUpdate: false })
    await sql`update device_presence set config_version = 4 where device_id = ${id}`
    await beat(id, { configVersion: 3 })
    expect(configs()).toEqual([[4, false]])
    await beat(id, { configVersion: 4 })
    expect(configs()).toEqual([])
  })

  test('goes to a newcomer, which has none', async () => {
    const id = await machine()
    await beat(id, { configVersion: 0 })
    expect(configs()).toEqual([[1, true]])
  })

  test('is sent once per connection for a while: an agent that cannot read it is not flooded', async () => {
    const id = await machine()
    for (let i = 0; i < 3; i++) await beat(id, { configVersion: 0 })
    expect(configs()).toEqual([[1, true]])
    await beat(id, { configVersion: 0 }, 8)
    expect(configs()).toEqual([[1, true]])
    await sql`update device_presence set config_version = 2 where device_id = ${id}`
    await beat(id, { configVersion: 0 }, 8)
    expect(configs()).toEqual([[2, true]])
  })

  test('that nobody heard is sent again', async () => {
    const id = await machine()
    const deaf: InboxDeps = {
      ...scene.worker,
      ports: { ...scene.worker.ports, bus: { up: true, publish: async () => 0 } },
    }
    await handle([item.beat(id, 7, { configVersion: 0 })], deaf)
    await beat(id, { configVersion: 0 })
    expect(configs()).toEqual([[1, true]])
  })

  test('switched on again lets the release that was held back go out', async () => {
    const id = await machine({ autoUpdate: false })
    await release('1.1.0')
    await beat(id)
    await sql`update devices set auto_update_enabled = true where id = ${id}`
    await sql`update device_presence set config_version = 2 where device_id = ${id}`
    await beat(id)
    expect(offers()).toEqual(['agent 1.1.0'])
  })
})
