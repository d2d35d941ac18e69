import { onTestFinished } from 'vitest'
import type { Transport } from '../src/transport/link.ts'
import { MqttTransport } from '../src/transport/mqtt/transport.ts'
import { loadEngine, UwsTransport } from '../src/transport/uws.ts'
import { WsTransport } from '../src/transport/ws.ts'
import { until } from './harness.ts'
import { Recorder } from './recorder.ts'
import { type Device, type Dial, headersOf, newDevice } from './wire.ts'

export const maxBacklogBytes = 256 * 1024

const engine = await loadEngine()
const options = {
  host: '127.0.0.1',
  port: 0,
  trusted: () => false,
  idleSeconds: 56,
  maxBacklogBytes,
  helloWithinMs: 5_000,
  maxBeginning: 100,
}
export const uws = (more = {}): Transport => new UwsTransport(engine, { ...options, ...more })
export const ws = (more = {}): Transport => new WsTransport({ ...options, ...more })

export const overMqtt = (more = {}): MqttTransport =>
  new MqttTransport({
    ...options,
    port: 0,
    tlsPort: undefined,
    tls: undefined,
    maxStrangers: 100,
    maxUnacknowledged: 64,
    ...more,
  })

/** Listens for a recorder, until the test ends. */
export const start = async (transport: Transport) => {
  const doorway = new Recorder()
  onTestFinished(() => transport.close())
  const { url } = await transport.listen(doorway)
  return { doorway, url }
}

/** A device that comes in, and what is recorded of it. */
export const join = async (dial: Dial, doorway: Recorder, device: Device = newDevice()) => {
  const peer = await dial(headersOf(device))
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  await until(() => doorway.connections.length > 0)
  const side = doorway.connections.at(-1)
  if (!side) throw new Error('nobody came')
  return { peer, side, device }
}
