import { svc } from '@svc/proto'
import { expect, it } from 'vitest'
import { Device } from '../../test/device.ts'
import { ManualClock } from '../../test/manual-clock.ts'
import { offerOf, publicKeyOf } from '../../test/update/offers.ts'
import type { AgentOptions } from '../agent.ts'
import { MemoryLedger } from '../ledger/memory.ts'
import { simulatedUpdater } from './simulated-updater.ts'
import { trustedKeys } from './trusted-keys.ts'
import type { MakeUpdater } from './updater.ts'

const { Outcome, UpdatePhase } = svc.v1

const offer = (device: Device, sequence = 1, version = '2.0.0') =>
  device.wire.end.say({
    updateOffer: offerOf({ version, bytes: Buffer.from(version), sequence }),
  })
const deviceWith = (more: Partial<AgentOptions>) => {
  const clock = new ManualClock(Date.now())
  return new Device(clock, new MemoryLedger(clock), more)
}
const simulated = () => deviceWith({ updater: simulatedUpdater('1.0.0', trustedKeys([publicKeyOf()])) })
const phases = (device: Device) =>
  device.wire.ends.flatMap((end) => end.of('updateStatus').map(({ phase }) => UpdatePhase[phase ?? 0]))
const versions = (device: Device) => device.wire.end.of('hello').map(({ agentVersion }) => agentVersion)
/** Loses its connection and has the next one. */
const comesBack = async (device: Device) => {
  const before = device.wire.ends.length
  device.wire.end.close('PEER_CLOSED')
  while (device.wire.ends.length === before) await device.clock.advance(500)
  device.wire.admit()
}
/** Lets heartbeats pass, each answered. */
const beats = async (device: Device, count: number) => {
  for (let i = 0; i < count; i += 1) {
    await device.clock.advance(60_000)
    device.wire.end.say({ heartbeatAck: {} })
  }
}

it('a simulated device passes through all phases and comes back at once as the new version', async () => {
  const device = await simulated().live()
  expect(versions(device)).toEqual(['1.0.0'])
  offer(device)
  await device.clock.advance(10_000)
  expect(device.wire.ends).toHaveLength(2)
  const end = device.wire.admit()
  expect(versions(device)).toEqual(['2.0.0'])
  await device.clock.advance(0)
  expect(end.of('heartbeat').map(({ agentVersion }) => agentVersion)).toEqual(['2.0.0'])
  expect(phases(device).join(' ')).toBe('DOWNLOADING VERIFYING BACKING_UP SWAPPING RESTARTING DONE')
  offer(device, 2)
  await device.clock.advance(10_000)
  expect(end.of('updateStatus').at(-1)).toMatchObject({ reason: 'not_newer' })
})

it('says the last word again on the next connection, until one has lasted', async () => {
  const device = await simulated().live()
  offer(device)
  await device.clock.advance(10_000)
  device.wire.admit()
  const said = () => device.wire.end.of('updateStatus').map(({ phase }) => UpdatePhase[phase ?? 0])
  for (let again = 0; again < 3; again += 1) {
    expect(said()).toEqual(['DONE'])
    await comesBack(device)
  }
  const [first] = device.wire.ends[1]?.of('updateStatus') ?? []
  expect(device.wire.end.of('updateStatus')).toEqual([first])
  await beats(device, 3)
  await comesBack(device)
  expect(said()).toEqual([])
})

it('takes a newer offer only after the update that is under way, with a heartbeat', async () => {
  const device = await simulated().live()
  offer(device, 1, '2.0.0')
  await device.clock.advance(1)
  offer(device, 2, '3.0.0')
  await device.clock.advance(10_000)
  device.wire.admit()
  expect(phases(device).at(-1)).toBe('DONE')
  await device.clock.advance(0)
  expect([versions(device), phases(device).at(-1)]).toEqual([['2.0.0'], 'DOWNLOADING'])
  await device.clock.advance(10_000)
  device.wire.admit()
  expect(versions(device)).toEqual(['3.0.0'])
})

it('reports the configuration it was given and refuses offers while updates are switched off', async () => {
  const device = await simulated().live()
  device.wire.end.say({ configUpdate: { version: 4, autoUpdate: false } })
  await device.clock.advance(60_000)
  expect(device.wire.end.of('heartbeat').at(-1)?.configVersion).toBe(4)
  offer(device)
  await device.clock.advance(60_000)
  expect(phases(device)).toEqual([])
  device.wire.end.say({ configUpdate: { version: 5, autoUpdate: true } })
  await device.clock.advance(0)
  offer(device)
  expect(phases(device)).toEqual(['DOWNLOADING'])
})

it('an agent that was not installed says so', async () => {
  const device = await new Device().live()
  offer(device)
  expect(device.wire.end.of('updateStatus')).toMatchObject([
    { phase: UpdatePhase.UPDATE_FAILED, reason: 'not_installed', toVersion: '2.0.0' },
  ])
})

it('makes way without a goodbye: what runs has a moment, is then interrupted, and nothing new is taken', async () => {
  let makeWay = () => {}
  const updater: MakeUpdater = (ports) => {
    ;({ makeWay } = ports)
    const nothing = () => {}
    const versions = { agent: '1', helper: '', watchdog: '' }
    return {
      versions,
      isFresh: false,
      connected: nothing,
      offered: nothing,
      beat: nothing,
      answered: nothing,
      stop: nothing,
    }
  }
  let replaced = false
  const device = await deviceWith({ updater, replaced: () => (replaced = true) }).live()
  const { end } = device.wire
  const cut = await device.script('wait')
  makeWay()
  await device.script('too late')
  await device.clock.advance(9_999)
  expect([device.ran, end.of('commandResult')]).toEqual([['wait'], []])
  await device.clock.advance(1)
  expect(end.of('commandResult')).toMatchObject([{ commandId: cut, outcome: Outcome.INTERRUPTED }])
  expect([end.of('goodbye'), end.closedWith, replaced]).toEqual([[], 'PEER_CLOSED', true])
})
