import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRelease, releasePublicKey } from '../../../control-plane/test/harness/release.ts'
import { ReleaseHost, repository } from '../../../control-plane/test/harness/release-host.ts'
import { agentFile } from '../../../tools/release/agent-file.ts'
import { brokenAgent } from '../update/build.ts'
import { Machine, sha256 } from '../update/machine.ts'
import type { Api } from './harness/api.ts'
import { type Crowd, startCrowd } from './harness/crowd.ts'
import { systemTests } from './harness/suite.ts'
import { startSystem, type System } from './harness/system.ts'
import { until } from './harness/until.ts'

interface Device {
  hostname: string
  status: string
  agentVersion: string
  update: { phase: string; from: string; to: string; reason: string | null } | null
}

const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'

/** Long enough to be seen. */
const slow = (bytes: Uint8Array) => (response: { end(bytes: Uint8Array): void }) =>
  void sleep(600).then(() => response.end(bytes))

systemTests('agents that update themselves', () => {
  let host: ReleaseHost
  let system: System
  let api: Api
  let machine: Machine
  let crowd: Crowd
  let id: string
  const builds: Record<'1.0.0' | '1.1.0', Uint8Array> = { '1.0.0': Buffer.of(), '1.1.0': Buffer.of() }
  const device = (of = id) => api.want<Device>(200, 'GET', `/devices/${of}`)

  /** Publishes it on the release host and registers it. */
  const release = async (version: string, sequence: number, agent: Uint8Array) => {
    const made = makeRelease(version, sequence, { files: { agent } })
    const mine = made.assets.filter(({ name }) => name.endsWith(`-linux-${architecture}`))
    host.publish(made, { replace: Object.fromEntries(mine.map(({ name, bytes }) => [name, slow(bytes)])) })
    const { synced } = await api.want<{ synced: string[] }>(200, 'POST', '/agent-versions/sync-github')
    expect(synced).toHaveLength(6)
  }
  /** What the device was seen to be until it is settled at that version, each once. */
  const seen = async (phase: string, version: string) => {
    const statuses = new Set<string>()
    await until(`${version} ${phase}`, async () => {
      const { status, update, agentVersion } = await device()
      statuses.add(status)
      return update?.phase === phase && update.to === version && status === 'online' && agentVersion !== ''
    })
    return [...statuses]
  }

  beforeAll(async () => {
    host = await ReleaseHost.start()
    ;[builds['1.0.0'], builds['1.1.0']] = await Promise.all([agentFile('1.0.0'), agentFile('1.1.0')])
    system = await startSystem({
      variables: {
        RELEASE_KEYS: releasePublicKey,
        BINARY_SOURCE: 'github',
        RELEASE_HOST_URL: host.url,
        RELEASE_REPO: repository,
        RELEASE_ASSET_HOSTS: host.storage,
        RELEASES_MS: '300',
      },
    })
    await system.sql`update users set platform_admin = true where email = ${system.tenant.email}`
    api = await system.admin()
    machine = new Machine(builds['1.0.0'], {
      SVC_API: system.apiUrl,
      SVC_ENROLLMENT_KEY: system.tenant.enrollmentKey,
    })
    machine.start()
    crowd = await startCrowd(system, { agents: 3, name: 'others' })
    await until('the machine is a device', () => machine.log.includes('enrolled as'))
    id = /enrolled as (\S+)/.exec(machine.log)?.[1] ?? ''
    await until('it is online', async () => (await device()).status === 'online')
  })
  afterAll(async () => {
    await machine?.close()
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('a release that is registered is run by the agent of a machine, which is `updating` meanwhile', async () => {
    expect(machine.runningHash).toBe(sha256(builds['1.0.0']))
    const [held = ''] = crowd.ids
    await api.want(200, 'POST', `/devices/${held}/auto-update`, { enabled: false })
    await release('1.1.0', 1, builds['1.1.0'])
    expect((await seen('done', '1.1.0')).toSorted()).toEqual(['online', 'updating'])
    expect(await device()).toMatchObject({ agentVersion: '1.1.0', update: { from: '1.0.0', reason: null } })
    expect(machine.runningHash).toBe(sha256(builds['1.1.0']))
    // Whatever becomes of the agent, what was installed is there to start it.
    expect(sha256(readFileSync(machine.installed))).toBe(sha256(builds['1.0.0']))
    const command = await api.send(id, 'run_script', { interpreter: 'sh', content: 'echo still here' })
    expect(await api.ended(id, command)).toMatchObject({ status: 'succeeded' })
  })

  test('simulated devices follow at their own pace; one that was told not to update does not', async () => {
    const [held = '', ...others] = crowd.ids
    await until('they have followed', async () => {
      const all = await Promise.all(others.map((other) => device(other)))
      return all.every(({ agentVersion, status }) => agentVersion === '1.1.0' && status === 'online')
    })
    expect((await device(held)).agentVersion).not.toBe('1.1.0')
  })

  test('a release that does not start leaves the machine at the one before, and says why', async () => {
    await release('1.2.0', 2, brokenAgent('1.2.0'))
    expect(await seen('rolled_back', '1.2.0')).toContain('updating')
    expect(await device()).toMatchObject({ agentVersion: '1.1.0', update: { reason: 'exit_at_start' } })
    expect(machine.runningHash).toBe(sha256(builds['1.1.0']))
  })
})
