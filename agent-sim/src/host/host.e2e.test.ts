import { mkdtemp, rm, stat } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TestGateway } from '../../test/gateway.ts'
import { type Host, startHost } from './host.ts'
import { eventually } from '../../test/eventually.ts'

let gateway: TestGateway
let dir: string
const hosts: Host[] = []
const lines: string[] = []

beforeEach(async () => {
  gateway = await TestGateway.open()
  dir = await mkdtemp(join(tmpdir(), 'host-'))
  lines.length = 0
})
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop()
  await gateway.close()
  await rm(dir, { recursive: true, force: true })
})

async function start(enrollmentKey?: string): Promise<Host> {
  const host = await startHost({
    api: gateway.api,
    stateDir: dir,
    log: (line) => lines.push(line),
    ...(enrollmentKey ? { enrollmentKey } : {}),
  })
  hosts.push(host)
  await eventually(() => host.agent.isConnected).toBe(true)
  return host
}

const onLinux = it.skipIf(process.platform !== 'linux')

onLinux('enrolls once, keeps its identity to itself, and comes back with it', async () => {
  const first = await start('key')
  await first.stop()
  expect(await first.ended).toBeUndefined()
  expect(gateway.peer.of('goodbye')).toMatchObject([{ reason: svc.v1.CloseReason.SHUTDOWN }])
  expect((await stat(join(dir, 'identity.json'))).mode & 0o777).toBe(0o600)
  const second = await start()
  expect(second.deviceId).toBe(first.deviceId)
  expect(gateway.enrollments).toMatchObject([{ enrollmentKey: 'key', hostname: hostname(), osType: 'linux' }])
  await expect(startHost({ api: gateway.api, stateDir: dir })).rejects.toThrow('another agent uses')
})

onLinux('needs a key where it has no identity, and frees its folder again', async () => {
  await expect(startHost({ api: gateway.api, stateDir: dir })).rejects.toThrow('an enrollment key is needed')
  await start('key')
})

onLinux('runs real scripts and lists real processes, beats with real numbers', async () => {
  await start('key')
  const { peer } = gateway
  const script = peer.script('echo $((6 * 7)); exit 0')
  const list = peer.command({
    type: 'list_processes',
    lane: 'interactive',
    args: { search: String(process.pid) },
  })
  await eventually(() => peer.of('commandResult').length).toBe(2)
  expect(Buffer.from(peer.results(script)[0]?.stdout?.data ?? []).toString()).toBe('42\n')
  const page = JSON.parse(Buffer.from(peer.results(list)[0]?.result ?? []).toString()) as {
    processes: { pid: number }[]
  }
  expect(page.processes.map(({ pid }) => pid)).toContain(process.pid)
  await eventually(() => peer.of('heartbeat').length).toBeGreaterThan(0)
  expect(peer.of('heartbeat')[0]?.metrics?.processCount).toBeGreaterThan(2)
  await eventually(() => peer.of('inventory').length).toBe(5)
})

onLinux('kills a running script when it is cancelled, and when it takes too long', async () => {
  await start('key')
  const { peer } = gateway
  const slow = peer.command({ args: { interpreter: 'sh', content: 'echo begun; sleep 60' }, timeoutMs: 400 })
  const cancelled = peer.script('echo begun; sleep 60')
  await eventually(() => peer.of('commandProgress').length).toBe(2)
  await new Promise((resolve) => setTimeout(resolve, 200))
  peer.say({ commandCancel: { commandId: cancelled } })
  await eventually(() => peer.of('commandResult').length).toBe(2)
  expect(peer.results(slow)).toMatchObject([{ outcome: svc.v1.Outcome.TIMED_OUT }])
  expect(peer.results(cancelled)).toMatchObject([{ outcome: svc.v1.Outcome.CANCELLED }])
  for (const id of [slow, cancelled])
    expect(Buffer.from(peer.results(id)[0]?.stdout?.data ?? []).toString()).toBe('begun\n')
})

onLinux('ends, and says why, when its credential is dead', async () => {
  const host = await start('key')
  gateway.peer.say({
    refused: { reason: svc.v1.CloseReason.CREDENTIAL_REVOKED, text: 'revoked by an operator' },
  })
  await host.admitted
  expect(await host.ended).toEqual({ reason: 'CREDENTIAL_REVOKED', text: 'revoked by an operator' })
})
