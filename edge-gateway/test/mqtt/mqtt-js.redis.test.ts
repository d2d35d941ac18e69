import { encodeBody, svc, withSeq } from '@svc/proto'
import { connectAsync, type MqttClient } from 'mqtt'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../harness.ts'
import type { Device } from '../wire.ts'
import { down, up } from './client.ts'
import { Place } from './place.ts'

let place: Place
let client: MqttClient | undefined
afterEach(async () => {
  await client?.endAsync(true)
  await place.close()
})

const commandId = '018f0000-0000-7000-8000-0000000000aa'
const command = {
  body: svc.v1.CommandBody.encode({ commandId, type: 'list_processes' } as svc.v1.CommandBody).finish(),
}

const login = ({ id, token }: Device) => ({
  clientId: id,
  username: id,
  password: token,
  protocolVersion: 4 as const,
  reconnectPeriod: 0,
  rejectUnauthorized: false,
})

describe('MQTT.js', () => {
  it.each(['tcp', 'websocket', 'tls'] as const)('is an agent on one connection, over %s', async (way) => {
    place = await Place.open({ tls: way === 'tls' })
    const device = place.world.device()
    client = await connectAsync(place[way], login(device))
    const arrived: svc.v1.Envelope[] = []
    client.on('message', (topic, payload) => {
      expect(topic).toBe(down(device))
      arrived.push(svc.v1.Envelope.decode(payload))
    })
    let seq = 0
    const say = (body: Omit<svc.v1.IEnvelope, 'seq'>) =>
      client?.publishAsync(up(device), Buffer.from(withSeq(++seq, encodeBody(body))), { qos: 1 })
    await client.subscribeAsync(down(device), { qos: 1 })
    await say({ hello: { protocolMin: 1, protocolMax: 1, agentVersion: '1.2.3' } })
    await say({ heartbeat: { uptimeSeconds: 7 } })
    await place.deliver(device, { command })
    await until(() => arrived.some((envelope) => envelope.command), 'the command')
    const body = svc.v1.CommandBody.decode(arrived.at(-1)?.command?.body ?? new Uint8Array())
    await say({ commandAck: { commandId: body.commandId } })
    await say({ commandResult: { commandId: body.commandId, outcome: svc.v1.Outcome.SUCCEEDED } })
    await place.deliver(device, { resultAck: { commandId } })
    await until(() => arrived.length === 4, 'four frames')
    expect(arrived.map(({ body }) => body)).toEqual(['welcome', 'heartbeatAck', 'command', 'resultAck'])
    // Each was acknowledged, so all of it is there by now.
    const items = await place.world.upOf(device)
    expect(
      items
        .map(({ session, heartbeat, commandAck, commandResult }) =>
          [
            session?.hello?.agentVersion,
            heartbeat?.uptimeSeconds,
            commandAck?.commandId,
            commandResult?.commandId,
          ].find(Boolean),
        )
        .filter(Boolean),
    ).toEqual(['1.2.3', 7, commandId, commandId])
  })

  it('is told why it is not let in', async () => {
    place = await Place.open()
    const device = place.world.device()
    const refusal = (options: object) => connectAsync(place.tcp, { ...login(device), ...options })
    await expect(refusal({ password: 'wrong' })).rejects.toThrow('Bad username or password')
    await expect(refusal({ clean: false })).rejects.toThrow('Not authorized')
    await expect(refusal({ protocolVersion: 3, protocolId: 'MQIsdp' })).rejects.toThrow(
      'Unacceptable protocol',
    )
    await expect(refusal({ protocolVersion: 5 })).rejects.toThrow('Unsupported Protocol Version')
  })
})
