import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { svc } from '@svc/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../harness.ts'
import { Place } from '../place.ts'

/** Debian's module belongs to Debian's Python. */
const python = '/usr/bin/python3'
const script = join(import.meta.dirname, 'agent.py')
const commandId = '018f0000-0000-7000-8000-0000000000aa'

let place: Place
beforeEach(async () => {
  place = await Place.open()
})
afterEach(() => place.close())

const run = async (...args: string[]) => promisify(execFile)(python, [script, ...args])

it('paho is an agent on one connection', async () => {
  const device = place.world.device()
  const ended = run('127.0.0.1', new URL(place.tcp).port, device.id, device.token)
  const said = async (holds: (item: svc.v1.IUpItem) => boolean) =>
    (await place.world.upOf(device)).some(holds)
  await until(() => said((item) => item.heartbeat?.uptimeSeconds === 4242), 'the heartbeat')
  const body = svc.v1.CommandBody.encode({ commandId, type: 'list_processes' } as svc.v1.CommandBody).finish()
  await place.deliver(device, { command: { body, signature: new Uint8Array(64), keyId: 'k' } })
  await until(() => said((item) => Boolean(item.commandResult)), 'the result')
  await place.deliver(device, { resultAck: { commandId } })
  const told = JSON.parse((await ended).stdout) as Record<string, unknown>
  const items = await place.world.upOf(device)
  const epoch = items[0]?.epoch
  expect(told).toEqual({
    epoch,
    command: commandId,
    kind: 'list_processes',
    committed: commandId,
    saw: [32, 33, 34, 36],
  })
  expect(items.find((item) => item.session?.hello?.agentVersion)).toMatchObject({
    epoch,
    session: { hello: { agentVersion: 'paho-1', os: 'linux', bootId: 'boot' } },
  })
  expect(items.find((item) => item.commandAck)?.commandAck).toMatchObject({ commandId })
  expect(items.find((item) => item.commandResult)?.commandResult).toMatchObject({
    commandId,
    outcome: svc.v1.Outcome.SUCCEEDED,
    exitCode: 0,
    stdout: { data: Buffer.from('done') },
  })
  expect(place.closed).toEqual({ SHUTDOWN: 1 })
})

it('paho is told that its token is wrong', async () => {
  const device = place.world.device()
  await expect(run('127.0.0.1', new URL(place.tcp).port, device.id, 'wrong')).rejects.toThrow('refused: 4')
})
