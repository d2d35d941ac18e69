import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { until } from '../../test/harness.ts'
import { dialMqtt } from '../../test/mqtt/client.ts'
import { join, overMqtt, start, uws, ws } from '../../test/transports.ts'
import { dialSocket, headersOf, newDevice } from '../../test/wire.ts'
import { trustOf } from './address.ts'
import type { Transport } from './link.ts'
import { together } from './together.ts'

const trusted = trustOf(['127.0.0.1'])
const office = '203.0.113.9'
const forwarded = { 'x-forwarded-for': office }

/** A connection that says nothing. */
const silent = async (url: string): Promise<{ socket: Socket; over: () => boolean }> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let over = false
  socket.on('error', () => {}).on('close', () => (over = true))
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.resume()
  return { socket, over: () => over }
}

const overMqttIn = (make: (more?: object) => Transport) => (more: object) => {
  const mqtt = overMqtt({ port: undefined })
  return together(make({ ...more, mqtt: mqtt.door }), mqtt)
}
const mqttAt = (url: string) => dialMqtt(url.replace('agent', 'mqtt'))
const mqttBehind = (url: string) => dialMqtt(url.replace('agent', 'mqtt'), forwarded)

describe.each([
  ['uWebSockets.js', uws, dialSocket, (url: string) => dialSocket(url, forwarded)],
  ['ws', ws, dialSocket, (url: string) => dialSocket(url, forwarded)],
  ['MQTT in uWebSockets.js', overMqttIn(uws), mqttAt, mqttBehind],
  ['MQTT in ws', overMqttIn(ws), mqttAt, mqttBehind],
])('%s', (_name, make, dial, dialBehind) => {
  it('asks once for each connection, and ends one of an address that has too many before it says anything', async () => {
    const { doorway, url } = await start(make({}))
    await join(dial(url), doorway)
    expect(doorway.knocks).toEqual(['127.0.0.1'])
    doorway.welcomes = () => false
    const { over } = await silent(url)
    await until(over, 'its end')
    expect(doorway.rejections).toEqual([429])
    expect(doorway.connections).toHaveLength(1)
  })

  it('asks for whom a proxy brings, and turns away that one alone', async () => {
    const { doorway, url } = await start(make({ trusted }))
    doorway.welcomes = (address) => address !== office
    expect(await dialBehind(url)(headersOf(newDevice()))).toBe(429)
    await join(dial(url), doorway)
    expect([doorway.knocks, doorway.rejections]).toEqual([[office], [429]])
  })
})

it('over TCP as well', async () => {
  const { doorway, url } = await start(overMqtt())
  doorway.welcomes = () => false
  const { over } = await silent(url)
  await until(over, 'its end')
  expect([doorway.knocks, doorway.rejections]).toEqual([['127.0.0.1'], [429]])
})

it('as many as may begin do, where the engine waits long for a request; who is in, or gone, is none of them', async () => {
  const { doorway, url } = await start(uws({ maxBeginning: 2 }))
  await join(dialSocket(url), doorway)
  const [first, second, third] = [await silent(url), await silent(url), await silent(url)]
  await until(third.over, 'the end of the third')
  expect(doorway.rejections).toEqual([503])
  expect([first.over(), second.over()]).toEqual([false, false])
  first.socket.destroy()
  await until(async () => {
    const next = await silent(url)
    const answer = new Promise<boolean>((resolve) => {
      next.socket.once('data', () => resolve(true)).once('close', () => resolve(false))
    })
    next.socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    return answer.finally(() => next.socket.destroy())
  }, 'room for another')
})
