import { spawn } from 'node:child_process'
import { svc } from '@svc/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../harness.ts'
import type { Device } from '../../wire.ts'
import { down, up } from '../client.ts'
import { frame, Place } from '../place.ts'

let place: Place
beforeEach(async () => {
  place = await Place.open()
})
afterEach(() => place.close())

const login = ({ id, token }: Device) =>
  `-V 311 -h 127.0.0.1 -p ${new URL(place.tcp).port} -i ${id} -u ${id} -P ${token} -q 1`.split(' ')

/** Runs a client, which publishes what it reads; answers with what it wrote and its exit code. */
const run = async (command: string, args: string[], input: Uint8Array = new Uint8Array()) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const written: Buffer[] = []
  child.stdout.on('data', (bytes: Buffer) => written.push(bytes))
  let complaint = ''
  child.stderr.on('data', (bytes: Buffer) => {
    complaint += bytes.toString()
  })
  child.stdin.end(input)
  const code = await new Promise((resolve) => child.on('exit', resolve))
  return { code, complaint, output: Buffer.concat(written) }
}

it('mosquitto_rr subscribes, heartbeats and receives a frame', async () => {
  const device = place.world.device()
  // An argument holds no zero and is text: neither is in the way of this envelope.
  const heartbeat = Buffer.from(frame({ heartbeat: { uptimeSeconds: 77 } })).toString('latin1')
  const topics = ['-t', up(device), '-e', down(device)]
  const { code, output } = await run('mosquitto_rr', [
    ...login(device),
    ...topics,
    '-W',
    '10',
    '-m',
    heartbeat,
  ])
  expect(code).toBe(0)
  expect(svc.v1.Envelope.decode(output.subarray(0, -1)).welcome?.heartbeatIntervalMs).toBe(60_000)
  await until(async () =>
    (await place.world.upOf(device)).some((item) => item.heartbeat?.uptimeSeconds === 77),
  )
})

it('mosquitto_pub heartbeats, and is told when it may not', async () => {
  const device = place.world.device()
  const heartbeat = frame({ heartbeat: { uptimeSeconds: 78 } })
  const publish = (who: Device, topic: string) =>
    run('mosquitto_pub', [...login(who), '-t', topic, '-s'], heartbeat)
  expect(await publish(device, up(device))).toMatchObject({ code: 0 })
  expect((await place.world.upOf(device)).some((item) => item.heartbeat?.uptimeSeconds === 78)).toBe(true)
  expect((await publish({ ...device, token: 'wrong' }, up(device))).complaint).toContain('bad user name')
  expect((await publish(device, down(device))).code).not.toBe(0)
})
