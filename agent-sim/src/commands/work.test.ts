import { svc } from '@svc/proto'
import { expect, it } from 'vitest'
import { Device, deviceId } from '../../test/device.ts'
import { signed } from '../../test/signer.ts'

const { Outcome } = svc.v1

it('acknowledges a command only after the ledger has it, tells when it starts, and repeats the result until it is acked', async () => {
  const device = new Device()
  let write: () => void = () => {}
  const written = new Promise<void>((resolve) => {
    write = resolve
  })
  const original = device.ledger.write.bind(device.ledger)
  device.ledger.write = async (change) => {
    await original(change)
    if (change.state === 'received') await written
  }
  await device.live()
  const { end } = device.wire
  const id = await device.script('ok')
  expect(end.of('commandAck')).toHaveLength(0)
  expect(device.ran).toEqual([])
  write()
  await device.clock.advance(0)
  expect(end.received.flatMap(({ body }) => (body?.startsWith('command') ? [body] : []))).toEqual([
    'commandAck',
    'commandProgress',
    'commandResult',
  ])
  expect(end.of('commandResult')[0]).toMatchObject({
    commandId: id,
    attempt: 1,
    outcome: Outcome.SUCCEEDED,
    exitCode: 0,
  })
  await device.clock.advance(30_000)
  expect(end.of('commandResult')).toHaveLength(2)
  end.close('PEER_CLOSED')
  await device.clock.advance(1_000)
  const second = device.wire.admit()
  expect(second.of('commandResult')).toHaveLength(1)
  second.say({ resultAck: { commandId: id } })
  await device.clock.advance(120_000)
  expect(second.of('commandResult')).toHaveLength(1)
  expect(device.ran).toEqual(['ok'])
})

it('does not acknowledge a command that the ledger cannot write, and takes it when it is offered again', async () => {
  const device = await new Device().live()
  const original = device.ledger.write.bind(device.ledger)
  device.ledger.write = async (change) => {
    await original(change)
    throw new Error('disk full')
  }
  const id = await device.script('ok')
  expect(device.wire.end.of('commandAck')).toHaveLength(0)
  expect(device.ran).toEqual([])
  device.ledger.write = original
  await device.script('ok', { commandId: id }, 2)
  expect(device.wire.end.of('commandAck')).toMatchObject([{ commandId: id, attempt: 2 }])
  expect(device.ran).toEqual(['ok'])
})

it('never runs a command twice: it acknowledges again while it runs and repeats the answer afterwards', async () => {
  const device = await new Device().live()
  const { end } = device.wire
  const id = await device.script('wait', { timeoutMs: 5_000 })
  await device.script('wait', { commandId: id }, 2)
  expect(end.of('commandAck').map(({ attempt }) => attempt)).toEqual([1, 2])
  await device.clock.advance(5_000)
  expect(end.of('commandResult')).toMatchObject([{ outcome: Outcome.TIMED_OUT, attempt: 2 }])
  await device.script('wait', { commandId: id }, 3)
  end.say({ resultAck: { commandId: id } })
  await device.script('wait', { commandId: id }, 4)
  expect(end.of('commandResult').map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [2, Outcome.TIMED_OUT],
    [3, Outcome.TIMED_OUT],
    [4, Outcome.TIMED_OUT],
  ])
  expect(device.ran).toEqual(['wait'])
})

it('cancels what runs and what waits, and lets the next one in', async () => {
  const device = await new Device().live()
  const { end } = device.wire
  const [first, , third] = [
    await device.script('wait', { lane: 'work' }),
    await device.script('wait', { lane: 'work' }),
    await device.script('ok', { lane: 'work' }),
    await device.script('ok', { lane: 'work' }),
  ]
  end.say({ commandCancel: { commandId: third } })
  await device.clock.advance(0)
  expect(end.of('commandResult')).toMatchObject([{ commandId: third, outcome: Outcome.CANCELLED }])
  end.say({ commandCancel: { commandId: first } })
  await device.clock.advance(0)
  expect(end.of('commandResult').map(({ outcome }) => outcome)).toEqual([
    Outcome.CANCELLED,
    Outcome.CANCELLED,
    Outcome.SUCCEEDED,
  ])
  expect(device.ran).toEqual(['wait', 'wait', 'ok'])
})

it('keeps to the lanes: one stuck kind of work does not hold up another', async () => {
  const device = await new Device().live()
  for (const lane of ['work', 'work', 'work', 'bulk', 'bulk']) await device.script('wait', { lane })
  for (let i = 0; i < 5; i += 1) await device.script('wait', { lane: 'interactive' })
  expect(device.ran).toHaveLength(2 + 1 + 4)
  expect(device.wire.end.of('commandAck')).toHaveLength(10)
})

it('leaves behind work that does not end when told to, and frees its lane', async () => {
  const device = await new Device().live()
  await device.script('deaf', { lane: 'bulk', timeoutMs: 1_000 })
  await device.script('ok', { lane: 'bulk' })
  await device.clock.advance(10_999)
  expect(device.outcomes()).toEqual([])
  await device.clock.advance(1)
  expect(device.outcomes()).toEqual(['TIMED_OUT', 'SUCCEEDED'])
})

it('says of a failure what it was', async () => {
  const device = await new Device().live()
  await device.script('fail')
  await device.script('throw')
  expect(device.wire.end.of('commandResult')).toMatchObject([
    { outcome: Outcome.FAILED, exitCode: 3, error: 'exit code 3' },
    { outcome: Outcome.FAILED, error: 'it broke' },
  ])
})

it('runs nothing that the control plane did not sign for it, and says so', async () => {
  const device = await new Device().live()
  const { end } = device.wire
  const now = device.clock.now()
  const args = { interpreter: 'sh', content: 'ok' }
  const forged = [
    signed({ deviceId, now, args }, { signature: Buffer.alloc(64) }),
    signed({ deviceId, now, args }, { signature: null }),
    signed({ deviceId, now, args }, { keyId: 'key-2' }),
    signed({ deviceId: '0199aaaa-0000-7000-8000-000000000002', now, args }),
  ]
  const refused = [
    signed({ deviceId, now, type: 'format_disk' }),
    signed({ deviceId, now, type: 'constructor' }),
    signed({ deviceId, now, args: { interpreter: 'perl', content: 'x' } }),
    signed({ deviceId, now, args: { interpreter: 'sh', content: 'x', evil: true } }),
    signed({ deviceId, now, args: { interpreter: 'sh', content: 'x' }, argsSha256: Buffer.alloc(32) }),
  ]
  for (const { command } of [...forged, ...refused]) end.say({ command })
  end.say({ command: { body: Buffer.from([255, 255]) } })
  await device.clock.advance(1_000)
  const results = end.of('commandResult').filter(({ disowned }) => !disowned)
  expect(results.map(({ commandId, outcome }) => [commandId, outcome])).toEqual(
    refused.map(({ commandId }) => [commandId, Outcome.REJECTED]),
  )
  expect(device.events.filter(({ kind }) => kind === 'disowned')).toHaveLength(forged.length + 1)
  expect(forged.map(({ commandId }) => device.ledger.find(commandId))).toEqual(forged.map(() => undefined))
  expect(device.ran).toEqual([])
})

it('tells how many frames it disowned: once a second, of a connection that is there, and by no id that is none', async () => {
  const device = await new Device().live()
  const said = (end: typeof device.wire.end) =>
    end.of('commandResult').map(({ commandId, disowned }) => [commandId, disowned])
  const forge = (commandId: string) => {
    const { command } = signed({ deviceId, now: device.clock.now(), commandId }, { signature: null })
    device.wire.end.say({ command })
  }
  const [first, last] = ['0199aaaa-0000-7000-8000-00000000000a', '0199aaaa-0000-7000-8000-00000000000b']
  forge(first)
  for (let i = 0; i < 500; i++) forge(last)
  expect(said(device.wire.end)).toEqual([[first, 1]])
  device.wire.full = true
  await device.clock.advance(1_000)
  device.wire.full = false
  forge('no id at all')
  await device.clock.advance(1_000)
  expect(said(device.wire.end).slice(1)).toEqual([['00000000-0000-0000-0000-000000000000', 501]])
  await device.clock.advance(10_000)
  expect(said(device.wire.end)).toHaveLength(2)
})

it('is not kept from a command by a forged one with the same id', async () => {
  const device = await new Device().live()
  const { commandId, command } = signed(
    { deviceId, now: device.clock.now() },
    { signature: Buffer.alloc(64) },
  )
  device.wire.end.say({ command })
  await device.script('ok', { commandId })
  device.wire.end.say({ command })
  await device.clock.advance(0)
  expect(device.ran).toEqual(['ok'])
  const answers = device.wire.end.of('commandResult').filter(({ disowned }) => !disowned)
  expect(answers.map(({ outcome }) => outcome)).toEqual([Outcome.SUCCEEDED])
})

it('starts nothing after its expiry, neither on arrival nor from the queue, in server time', async () => {
  const device = await new Device().start()
  // The device's own clock is an hour behind.
  const serverNow = device.clock.now() + 3_600_000
  const end = device.wire.admit({ serverTimeMs: serverNow })
  await device.script('ok', { now: serverNow, expiresAtMs: serverNow - 1 })
  expect(end.of('commandResult')).toMatchObject([{ outcome: Outcome.EXPIRED }])
  await device.script('wait', { now: serverNow, lane: 'bulk', timeoutMs: 20_000 })
  await device.script('ok', { now: serverNow, lane: 'bulk', expiresAtMs: serverNow + 10_000 })
  await device.clock.advance(20_000)
  expect(device.outcomes()).toEqual(['EXPIRED', 'TIMED_OUT', 'EXPIRED'])
  expect(device.ran).toEqual(['wait'])
})

it('holds a command until its time comes', async () => {
  const device = await new Device().live()
  await device.script('ok', { notBeforeMs: device.clock.now() + 5_000 })
  await device.clock.advance(4_999)
  expect(device.ran).toEqual([])
  await device.clock.advance(1)
  expect(device.ran).toEqual(['ok'])
})

it('after a crash runs what had not started, reports what had as interrupted, and repeats what was finished', async () => {
  const device = await new Device().live()
  await device.script('wait', { lane: 'bulk' })
  await device.script('queued', { lane: 'bulk' })
  await device.script('ok')
  device.agent.kill()
  await device.clock.advance(60_000)
  expect(device.wire.ends[0]?.closedWith).toBe('dropped')
  const reborn = new Device(device.clock, device.ledger)
  await reborn.live()
  expect(reborn.ran).toEqual(['queued'])
  const results = reborn.wire.end.of('commandResult').map(({ outcome }) => outcome)
  expect(results.toSorted((a, b) => Number(a) - Number(b))).toEqual([
    Outcome.SUCCEEDED,
    Outcome.SUCCEEDED,
    Outcome.INTERRUPTED,
  ])
})

it('sends nothing into a wire that does not drain, and everything that counts once it does', async () => {
  const device = await new Device().live()
  device.wire.full = true
  const before = device.wire.end.received.length
  await device.script('ok')
  await device.clock.advance(20_000)
  expect(device.wire.end.received).toHaveLength(before)
  device.wire.full = false
  await device.clock.advance(1_000)
  expect(device.wire.end.of('commandResult')).toHaveLength(1)
})

it('answers with a failure instead of a frame that the gateway would refuse', async () => {
  const device = await new Device().start()
  const end = device.wire.admit({ maxFrameBytes: 100 })
  await device.script('throw', { commandId: 'c'.repeat(36) })
  await device.script('', { type: 'list_processes', args: {}, lane: 'interactive' })
  const results = end.of('commandResult')
  expect(results).toHaveLength(2)
  expect(results[1]).toMatchObject({ outcome: Outcome.FAILED })
  expect(results[1]?.error).toContain('more than a frame')
})

it('tells which request asked, with whatever it tells of a command', async () => {
  const device = await new Device().live()
  const trace = { traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 2), requestId: Buffer.alloc(16, 3) }
  const { commandId: id, command } = signed({
    deviceId,
    args: { interpreter: 'sh', content: 'ok' },
    now: device.clock.now(),
  })
  device.wire.end.say({ command: { ...command, trace } })
  await device.clock.advance(0)
  const asked = { id, traceId: '01'.repeat(16), requestId: '03030303-0303-0303-0303-030303030303' }
  expect(device.events.filter((event) => 'id' in event)).toMatchObject([
    { kind: 'command', ...asked },
    { kind: 'started', ...asked },
    { kind: 'finished', ...asked },
  ])
})
