import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandTypes, svc } from '@svc/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TestGateway } from '../../test/gateway.ts'
import { type Fleet, type FleetOptions, startFleet } from './fleet.ts'
import { parseMix } from './mix.ts'
import { eventually } from '../../test/eventually.ts'

let gateway: TestGateway
let dir: string
const fleets: Fleet[] = []

beforeEach(async () => {
  gateway = await TestGateway.open()
  dir = await mkdtemp(join(tmpdir(), 'fleet-'))
})
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.kill()
  await gateway.close()
  await rm(dir, { recursive: true, force: true })
})

async function start(options: Partial<FleetOptions> = {}): Promise<Fleet> {
  const fleet = await startFleet({
    api: gateway.api,
    enrollmentKey: 'key',
    agents: 5,
    rampPerSecond: 500,
    ...options,
  })
  fleets.push(fleet)
  return fleet
}

const json = (bytes: Uint8Array | null | undefined): unknown =>
  JSON.parse(Buffer.from(bytes ?? []).toString())

it('enrolls devices that differ, connects them, beats, and reports inventory', async () => {
  const fleet = await start({ agents: 30, prefix: 'x-' })
  await fleet.ready()
  await eventually(() => fleet.stats().heartbeatAcks).toBeGreaterThan(60)
  await eventually(() => fleet.stats().inventories).toBe(150)
  const stats = fleet.stats()
  expect(stats).toMatchObject({
    agents: 30,
    enrolled: 30,
    connected: 30,
    connects: 30,
    disconnects: 0,
    disowned: 0,
    trouble: 0,
  })
  expect(stats.connectMs.p99).toBeGreaterThan(0)
  expect(gateway.enrollments).toHaveLength(30)
  expect(new Set(gateway.enrollments.map(({ hostname }) => hostname)).size).toBe(30)
  expect(new Set(gateway.enrollments.map(({ osType }) => osType))).toEqual(
    new Set(['windows', 'macos', 'linux']),
  )
  expect(gateway.enrollments[0]).toMatchObject({
    enrollmentKey: 'key',
    agentVersion: expect.any(String) as string,
  })
  expect(String(gateway.enrollments[0]?.['hostname'])).toMatch(/^x-/)
  const kinds = gateway.peers
    .values()
    .next()
    .value?.of('inventory')
    .map(({ payload }) => payload)
  expect(kinds).toEqual(['hardware', 'os', 'disks', 'network', 'software'])
})

it('carries out scripts, process lists and inventory, and counts each effect', async () => {
  const fleet = await start({ agents: 1 })
  await fleet.ready()
  const { peer } = gateway
  const script = peer.script('# hi\necho "hello $1"\necho oops >&2\nexit 4\necho never')
  const list = peer.command({
    type: 'list_processes',
    lane: 'interactive',
    args: { limit: 5, sortBy: 'ram' },
  })
  const refresh = peer.command({ type: 'refresh_inventory' })
  await eventually(() => peer.of('commandResult').length).toBe(3)
  const [ran] = peer.results(script)
  expect(ran).toMatchObject({ outcome: svc.v1.Outcome.FAILED, exitCode: 4 })
  expect([
    Buffer.from(ran?.stdout?.data ?? []).toString(),
    Buffer.from(ran?.stderr?.data ?? []).toString(),
  ]).toEqual(['hello \n', 'oops\n'])
  const page = commandTypes.list_processes.result.parse(json(peer.results(list)[0]?.result))
  expect(page.processes).toHaveLength(5)
  expect(page.total).toBeGreaterThanOrEqual(40)
  expect(json(peer.results(refresh)[0]?.result)).toEqual({
    collected: ['hardware', 'os', 'disks', 'network', 'software'],
  })
  expect(
    fleet
      .executions()
      .map(({ commandId }) => commandId)
      .toSorted(),
  ).toEqual([script, list, refresh].toSorted())
  expect(fleet.executions()[0]?.deviceId).toBe(peer.deviceId)
  await eventually(() => fleet.stats().resultAcks).toBe(3)
  expect(fleet.stats()).toMatchObject({ commands: 3, outcomes: { SUCCEEDED: 2, FAILED: 1 } })
})

it('brings the same devices back from its state folder and enrolls only the ones that are new', async () => {
  const first = await start({ stateDir: dir, agents: 3 })
  await first.ready()
  await expect(
    startFleet({ api: gateway.api, enrollmentKey: 'key', agents: 1, stateDir: dir }),
  ).rejects.toThrow('another agent')
  await first.stop()
  expect([...gateway.peers.values()].map((peer) => peer.of('goodbye').length)).toEqual([1, 1, 1])
  const second = await start({ stateDir: dir, agents: 4 })
  await second.ready()
  expect(gateway.enrollments).toHaveLength(4)
  expect(gateway.peers.size).toBe(4)
  expect(second.agents[1]?.deviceId).toBe(first.agents[1]?.deviceId)
  expect((await stat(join(dir, 'identities.jsonl'))).mode & 0o777).toBe(0o600)
})

it('runs no command twice across a kill when its ledgers are kept, and lists every execution', async () => {
  const options = { stateDir: dir, ledgerDir: join(dir, 'ledgers'), agents: 1 }
  gateway.ackResults = false
  const first = await start(options)
  await first.ready()
  const [done, stuck] = [gateway.peer.script('echo once'), gateway.peer.script('sleep 600')]
  await eventually(() => first.executions().length).toBe(2)
  await eventually(() => gateway.peer.results(done).length).toBe(1)
  await first.kill()
  expect(gateway.peer.of('goodbye')).toHaveLength(0)
  gateway.ackResults = true
  const second = await start(options)
  await second.ready()
  gateway.peer.command({ commandId: done, args: { interpreter: 'sh', content: 'echo once' } })
  await eventually(() => gateway.peer.results(done).length).toBe(3)
  await eventually(() => gateway.peer.results(stuck)).toMatchObject([{ outcome: svc.v1.Outcome.INTERRUPTED }])
  expect(second.executions()).toEqual([])
  const lines = (await readFile(join(dir, 'ledgers/executions.jsonl'), 'utf8')).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { commandId: string }).commandId)).toEqual([done, stuck])
})

it('comes back after a lost connection and takes up its unacked results', async () => {
  gateway.ackResults = false
  const fleet = await start({ agents: 3 })
  await fleet.ready()
  const [peer] = gateway.peers.values()
  const id = peer?.script('echo x') ?? ''
  await eventually(() => peer?.results(id).length).toBe(1)
  gateway.closeAll('INTERNAL_ERROR')
  await eventually(() => fleet.stats().connects).toBe(6)
  await eventually(() => peer?.results(id).length).toBe(2)
  expect(fleet.stats()).toMatchObject({ disconnects: 3, reasons: { INTERNAL_ERROR: 3 }, connected: 3 })
})

it('obeys a limit on enrollment, and gives up where it is refused', async () => {
  let asked = 0
  gateway.enrollAnswer = () =>
    (asked += 1) === 1
      ? { status: 429, body: { error: { code: 'RATE_LIMITED', message: '' }, retryAfter: 1 } }
      : undefined
  const since = performance.now()
  await (await start({ agents: 1 })).ready()
  expect(performance.now() - since).toBeGreaterThan(1_000)
  gateway.enrollAnswer = () => ({
    status: 401,
    body: { error: { code: 'ENROLLMENT_KEY_INVALID', message: 'not valid' } },
  })
  const refused = await start({ agents: 2 })
  await expect(refused.ready()).rejects.toThrow('ENROLLMENT_KEY_INVALID: not valid')
  await eventually(() => refused.stats().stopped).toBe(2)
})

it('mixes transports, each device always by its own, and tells them apart', async () => {
  const options = { agents: 10, transports: parseMix('websocket=5,mqtt=3,mqtt-ws=2'), stateDir: dir }
  const fleet = await start(options)
  await fleet.ready()
  const vias = () => [...gateway.peers.values()].map(({ deviceId, via }) => [deviceId, via] as const)
  const first = new Map(vias())
  expect(new Map(fleet.agents.map(({ deviceId, via }) => [deviceId, via]))).toEqual(first)
  for (const peer of gateway.peers.values()) peer.script('echo x')
  await eventually(() => fleet.stats().resultAcks).toBe(10)
  await eventually(() => fleet.stats().heartbeatAcks).toBeGreaterThan(9)
  const { transports, connected } = fleet.stats()
  expect(connected).toBe(10)
  for (const [kind, agents] of [
    ['websocket', 5],
    ['mqtt', 3],
    ['mqtt-ws', 2],
  ] as const) {
    const expected = {
      agents,
      enrolled: agents,
      connected: agents,
      connects: agents,
      commands: agents,
      resultAcks: agents,
    }
    expect(transports[kind], kind).toMatchObject({ ...expected, outcomes: { SUCCEEDED: agents } })
    expect(transports[kind]?.heartbeatMs.count, kind).toBeGreaterThan(0)
  }
  await fleet.stop()
  expect([...gateway.peers.values()].map((peer) => peer.of('goodbye').length)).toEqual(Array(10).fill(1))
  const again = await start(options)
  await again.ready()
  expect(new Map(vias())).toEqual(first)
})

it('fails for devices whose transport no gateway speaks', async () => {
  gateway.speaksMqtt = false
  const fleet = await start({ agents: 2, transports: parseMix('mqtt') })
  await expect(fleet.ready()).rejects.toThrow('no gateway is known that speaks mqtt: ws://')
})

it('enrolls anew who is no longer wanted after a start, once, and goes on without who is lost later', async () => {
  const options = { stateDir: dir, agents: 3, replace: true }
  const first = await start(options)
  await first.ready()
  const numbered = first.agents.toSorted((a, b) => a.number - b.number)
  const [gone, ...others] = numbered.map(({ deviceId }) => deviceId)
  await first.stop()
  gateway.unwanted.add(gone ?? '')
  const second = await start({ ...options, agents: 2 })
  expect(second.idle).toBe(1)
  await second.ready()
  expect(gateway.enrollments).toHaveLength(4)
  expect(second.stats()).toMatchObject({ connected: 2, stopped: 1 })
  const here = second.agents.map(({ deviceId }) => deviceId)
  expect(here).toHaveLength(2)
  expect(here).not.toContain(gone)
  expect(here).toContain(others[0])
  const replacement = here.find((deviceId) => !others.includes(deviceId)) ?? ''
  gateway.peers.get(replacement)?.say({ refused: { reason: svc.v1.CloseReason.DECOMMISSIONED } })
  await eventually(() => second.stats().stopped).toBe(2)
  await second.stop()
  expect(gateway.enrollments).toHaveLength(4)
})

it('with replacement is ready without those that cannot be enrolled', async () => {
  gateway.enrollAnswer = () => ({ status: 401, body: { error: { code: 'NO', message: 'no' } } })
  const fleet = await start({ agents: 2, replace: true })
  await fleet.ready()
  expect(fleet.stats()).toMatchObject({ connected: 0, stopped: 2 })
})

it('keeps a device with a dead credential away', async () => {
  gateway.refusal = { reason: svc.v1.CloseReason.CREDENTIAL_REVOKED, text: 'revoked' }
  const fleet = await start({ agents: 1 })
  await expect(fleet.ready()).rejects.toThrow('revoked')
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(gateway.peer.connects).toBe(1)
})
