import { type Socket, connect as connectTcp, createServer, type AddressInfo } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { buildGateway, PortTaken } from '../../src/index.ts'
import { until } from '../harness.ts'
import { connectPacket, openRaw, RawClient } from './client.ts'
import { Place, type PlaceOptions, welcomed } from './place.ts'

let place: Place
afterEach(() => place.close())
const open = async (options: PlaceOptions = {}) => {
  place = await Place.open(options)
  return place.world
}

const signature = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
const proxied = [...signature, 0x21, 0x11, 0, 12, 198, 51, 100, 7, 127, 0, 0, 1, 0x30, 0x39, 0x07, 0x5b]
const local = [...signature, 0x20, 0, 0, 0]

const dial = (url: string) =>
  new Promise<Socket>((resolve) => {
    const socket = connectTcp(Number(new URL(url).port), '127.0.0.1', () => resolve(socket))
  })

describe('behind a proxy', () => {
  /** What is told of a device that connects behind that header. */
  const addressOf = async (header: number[], encrypt = false) => {
    const device = place.world.device()
    const socket = await dial(encrypt ? place.tls : place.tcp)
    // In two parts, so that it has to wait for the second.
    socket.write(Buffer.from(header.slice(0, 5)))
    socket.write(Buffer.from(header.slice(5)))
    const client = new RawClient(encrypt ? connectTls({ socket, rejectUnauthorized: false }) : socket)
    client.say(connectPacket(device))
    if ((await client.connack()) !== 0) return undefined
    await until(async () => (await place.world.upOf(device)).length > 0)
    socket.destroy()
    return (await place.world.upOf(device))[0]?.session?.remoteAddress
  }

  it('the client’s address comes from the header, before TLS, too', async () => {
    await open({ trustedProxies: ['127.0.0.0/8'], tls: true })
    expect(await addressOf(proxied)).toBe('198.51.100.7')
    expect(await addressOf(proxied, true)).toBe('198.51.100.7')
    expect(await addressOf(local)).toBe('127.0.0.1')
    expect(await addressOf([])).toBe('127.0.0.1')
  })

  it('that nobody trusts the header is not MQTT', async () => {
    await open({ trustedProxies: ['10.0.0.0/8'], tls: true })
    expect(await addressOf(proxied)).toBeUndefined()
    expect(await addressOf(proxied, true)).toBeUndefined()
    expect(await addressOf([])).toBe('127.0.0.1')
    expect(place.closed).toMatchObject({ UNEXPECTED_FRAME: 1, MALFORMED_FRAME: 1 })
  })

  it('a broken header, or none that comes to an end, ends the connection', async () => {
    await open({ trustedProxies: ['127.0.0.1'], limits: { helloWithinMs: 200 } })
    for (const header of [[...signature, 0x31, 0x11, 0, 12], signature]) {
      const socket = await dial(place.tcp)
      socket.write(Buffer.from(header))
      await new RawClient(socket).closed
    }
    expect(place.closed).toEqual({ MALFORMED_FRAME: 1, ADMISSION_TIMEOUT: 1 })
  })
})

describe('ports', () => {
  it.each([
    ['MQTT_PORT', { port: 'taken', tlsPort: undefined }],
    ['MQTTS_PORT', { port: 0, tlsPort: 'taken' }],
  ] as const)('in use are one line that names %s', async (variable, ports) => {
    const world = await open({ tls: true })
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    const portOf = (wanted: 'taken' | 0 | undefined) => (wanted === 'taken' ? port : wanted)
    const mqtt = { host: '127.0.0.1', port: portOf(ports.port), tlsPort: portOf(ports.tlsPort) }
    const { certFile, keyFile } = Place.tlsFiles
    const config = { ...world.config('n2'), tls: { certFile, keyFile }, mqtt }
    const gateway = buildGateway({ config, bus: world.bus, logger: pino({ level: 'silent' }) })
    const listening = gateway.listen()
    await expect(listening).rejects.toThrow(PortTaken)
    await expect(listening).rejects.toThrow(
      `cannot listen on 127.0.0.1 port ${port}: set ${variable} or MQTT_HOST`,
    )
    taken.close()
  })

  it('are named when they are open, each with its way', async () => {
    await open({ tls: true })
    const line = place.log.find(({ msg }) => msg === 'accepting agents')
    expect(line).toMatchObject({ url: place.agent, mqtt: [place.tcp, place.tls, place.websocket] })
    expect([place.tcp, place.tls, place.websocket].map((url) => new URL(url).protocol)).toEqual([
      'mqtt:',
      'mqtts:',
      'wss:',
    ])
  })

  it('that are off are not there, and MQTT over WebSocket is', async () => {
    const world = await open()
    const gateway = buildGateway({
      config: world.config('n2'),
      bus: world.bus,
      logger: pino({ level: 'silent' }),
    })
    world.gateways.push(gateway)
    const { url, mqtt } = await gateway.listen()
    expect(mqtt).toEqual([url.replace('/agent', '/mqtt')])
    await welcomed(mqtt?.[0] ?? '', world.device())
  })

  it('are counted by what came through them', async () => {
    const world = await open()
    await welcomed(place.tcp, world.device())
    await welcomed(place.websocket, world.device())
    const client = await openRaw(place.tcp)
    client.say(Buffer.from('nonsense'))
    await client.closed
    const metrics = await place.gateway.metrics()
    const valuesOf = (name: string) => metrics.find((metric) => metric.name === name)?.values ?? []
    expect(valuesOf('svc_edge_devices_by_transport')).toMatchObject([
      { labels: { via: 'websocket' }, value: 0 },
      { labels: { via: 'mqtt' }, value: 2 },
    ])
    expect(valuesOf('svc_edge_closed_total')).toMatchObject([
      { labels: { reason: 'unexpected_frame' }, value: 1 },
    ])
    expect(valuesOf('svc_edge_connections_opened_total')).toMatchObject([{ value: 3 }])
  })
})
