import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signCommand, svc } from '@svc/proto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answersTo, attacksOn } from '../../test/attacks.ts'
import { eventually } from '../../test/eventually.ts'
import { type Peer, TestGateway } from '../../test/gateway.ts'
import { signed, signingPair } from '../../test/signer.ts'
import type { AgentEvent } from '../events.ts'
import { type Fleet, startFleet } from '../fleet/fleet.ts'
import { type Host, startHost } from '../host/host.ts'
import { transportKinds } from '../transport/kinds.ts'
import { ledgerLines } from '../../test/system/harness/checker/ledgers.ts'

/** Agents of a control plane whose signing key the gateway, which is the test, uses for what they are to obey. */
const folder = mkdtempSync(join(tmpdir(), 'hostile-gateway-'))
const marks = (name: string) => join(folder, `mark-${name}`)
let gateway: TestGateway
let fleet: Fleet
let host: Host
const logged: string[] = []
const events: AgentEvent[] = []

beforeAll(async () => {
  gateway = await TestGateway.open()
  const fleetFolder = join(folder, 'fleet')
  fleet = await startFleet({
    api: gateway.api,
    enrollmentKey: 'any',
    agents: 6,
    transports: { websocket: 1, mqtt: 1, 'mqtt-ws': 1 },
    stateDir: fleetFolder,
    ledgerDir: fleetFolder,
    observe: (_number, event) => events.push(event),
  })
  await fleet.ready()
  host = await startHost({
    api: gateway.api,
    enrollmentKey: 'any',
    stateDir: join(folder, 'host'),
    log: (line) => logged.push(line),
  })
  await host.admitted
})
afterAll(async () => {
  await host?.stop()
  await fleet?.kill()
  await gateway?.close()
  rmSync(folder, { recursive: true, force: true })
})

const sign = (body: Uint8Array) => ({
  body,
  signature: signCommand(body, signingPair.privateKey),
  keyId: 'key-1',
})
const script = (content: string) => ({ interpreter: 'sh', content, args: [], timeoutSeconds: 30 })
const ledgerOf = (deviceId: string) =>
  deviceId === host.deviceId
    ? ledgerLines(join(folder, 'host'))
    : ledgerLines(join(folder, 'fleet', 'devices', deviceId))
const startedOn = (deviceId: string) =>
  ledgerOf(deviceId).flatMap(({ state, id }) => (state === 'started' ? [id] : []))

const everybody = () => [...fleet.agents.map(({ deviceId }) => deviceId), host.deviceId]
const disowned = () => fleet.stats().disowned + logged.filter((line) => / disowned: /.test(line)).length
const peerOf = (deviceId: string): Peer => {
  const peer = gateway.peers.get(deviceId)
  if (!peer) throw new Error(`${deviceId} is not connected`)
  return peer
}
const outcomesOf = (deviceId: string, commandId: string) =>
  peerOf(deviceId)
    .results(commandId)
    .map(({ outcome }) => outcome)

test('no agent carries out what a gateway made up, over any transport; each frame is refused and counted', async () => {
  const ids = everybody()
  expect(new Set(ids.map((id) => peerOf(id).via))).toEqual(new Set(transportKinds))
  const real = new Map(
    ids.map((deviceId) => {
      const args = script(`echo x >> ${marks(deviceId)}`)
      return [deviceId, signed({ deviceId, args })] as const
    }),
  )
  for (const [deviceId, { command }] of real) peerOf(deviceId).say({ command })
  for (const [deviceId, { commandId }] of real)
    await eventually(() => outcomesOf(deviceId, commandId)).toEqual([svc.v1.Outcome.SUCCEEDED])
  expect(fleet.executions()).toHaveLength(fleet.agents.length)
  const before = new Map(ids.map((id) => [id, startedOn(id)]))

  let wanted = 0
  for (const [at, deviceId] of ids.entries()) {
    const other = ids[(at + 1) % ids.length] ?? ''
    const own = real.get(deviceId)?.command ?? {}
    const attacks = attacksOn(deviceId, script(`echo stolen >> ${marks('stolen')}`), {
      own,
      others: real.get(other)?.command ?? {},
      sign,
    })
    for (const { command } of attacks) peerOf(deviceId).say({ command })
    wanted += answersTo(attacks).disowned
    const late = svc.v1.CommandBody.decode(attacks.at(-1)?.command.body ?? new Uint8Array()).commandId
    await eventually(() => outcomesOf(deviceId, late)).toEqual([svc.v1.Outcome.EXPIRED])
    // Said again, the command is answered again, and not carried out again.
    const id = real.get(deviceId)?.commandId ?? ''
    await eventually(() => outcomesOf(deviceId, id)).toEqual([1, 1])
  }
  expect(wanted).toBe(12 * ids.length)
  await eventually(() => disowned()).toBe(wanted)
  const told = () =>
    ids.flatMap((id) => peerOf(id).of('commandResult')).reduce((sum, one) => sum + (one.disowned ?? 0), 0)
  await eventually(() => told()).toBe(wanted)
  expect(new Map(ids.map((id) => [id, startedOn(id)]))).toEqual(before)
  expect(existsSync(marks('stolen'))).toBe(false)
  expect(fleet.executions()).toHaveLength(fleet.agents.length)
  expect(events.filter(({ kind }) => kind === 'disconnected')).toEqual([])

  // The same frame with the control plane's signature: the way that the forgeries took leads to the agent.
  for (const deviceId of ids) {
    const { commandId, command } = signed({ deviceId, args: script(`echo x >> ${marks('control')}`) })
    peerOf(deviceId).say({ command })
    await eventually(() => startedOn(deviceId)).toContain(commandId)
  }
  await eventually(() => existsSync(marks('control'))).toBe(true)
})
