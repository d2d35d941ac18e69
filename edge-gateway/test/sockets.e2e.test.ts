import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { join } from 'node:path'
import { closeCode } from '@svc/proto'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildGateway, CertificateUnusable, type GatewayConfig } from '../src/index.ts'
import type { Limits } from '../src/ops/limits.ts'
import { until, World } from './harness.ts'
import { connect, dialSocket, get } from './wire.ts'

let world: World
beforeEach(async () => {
  world = await new World().start()
})
afterEach(() => world.stop())

const gatewayOn = async (more: Partial<GatewayConfig> = {}, limits: Partial<Limits> = {}) => {
  const gateway = buildGateway({
    config: { ...world.config('n1'), ...more },
    bus: world.bus,
    logger: pino({ level: 'silent' }),
    limits,
  })
  world.gateways.push(gateway)
  const { url } = await gateway.listen()
  return { gateway, url, http: url.replace(/^ws/, 'http').replace('/agent', '') }
}

const tls = {
  certFile: join(import.meta.dirname, 'tls/cert.pem'),
  keyFile: join(import.meta.dirname, 'tls/key.pem'),
}

const scrape = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request(url, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })

describe('a gateway on real sockets', () => {
  it('admits, acknowledges and takes over', async () => {
    const { url } = await gatewayOn()
    const device = world.device()
    const first = await connect(dialSocket(url), device)
    expect((await first.greet()).welcome).toBeTruthy()
    first.send({ heartbeat: { uptimeSeconds: 1 } })
    expect((await first.next()).heartbeatAck).toBeTruthy()
    const second = await connect(dialSocket(url), device)
    expect((await second.greet()).welcome).toBeTruthy()
    expect(await first.peer.closed).toBe(closeCode('SUPERSEDED'))
  })

  it('serves the same over TLS', async () => {
    const { gateway, url } = await gatewayOn({ tls })
    expect(url).toMatch(/^wss:/)
    const agent = await connect(dialSocket(url), world.device())
    expect((await agent.greet()).welcome).toBeTruthy()
    expect(gateway.stats().certificateExpires).toEqual(new Date('2126-11-04T00:29:18Z'))
  })

  it('says in one line which files are no certificate', async () => {
    const unusable = gatewayOn({ tls: { certFile: '/nowhere', keyFile: '/nowhere' } })
    await expect(unusable).rejects.toThrow(CertificateUnusable)
    await expect(unusable).rejects.toThrow(/^TLS_CERT_FILE, TLS_KEY_FILE: [^\n]+$/)
  })

  it('is ready while an admission can be decided, and not once it drains', async () => {
    const { gateway, http } = await gatewayOn()
    expect(await get(`${http}/health/ready`)).toMatchObject({ status: 200 })
    expect(await get(`${http}/health`)).toMatchObject({
      status: 200,
      body: { status: 'ok', limits: { maxBacklogBytes: 1024 * 1024 } },
    })
    world.bus.switch(false)
    expect(await get(`${http}/health`)).toMatchObject({ status: 200, body: { status: 'degraded' } })
    expect(await get(`${http}/health/ready`)).toMatchObject({ status: 200 })
    world.plane.away = true
    await until(() => !gateway.stats().exchangeUp, 'the exchange being away')
    expect(await get(`${http}/health/ready`)).toMatchObject({ status: 503 })
  })

  it('names what keeps it from being ready, and what does not', async () => {
    const { gateway, http } = await gatewayOn({}, { leaseMs: 400 })
    const ready = () => get(`${http}/health/ready`)
    expect(await ready()).toMatchObject({ status: 200, body: { failing: [] } })
    world.bus.switch(false)
    expect(await ready()).toMatchObject({ status: 200, body: { failing: ['redis'] } })
    world.bus.switch(true)
    world.plane.away = true
    await until(() => !gateway.stats().exchangeUp, 'the exchange being away')
    // Long enough ago for the lease to have run out.
    await until(() => gateway.stats().exchangeAgeMs > 400, 'the lease having run out')
    expect(await ready()).toMatchObject({ status: 503, body: { failing: ['exchange', 'lease'] } })
    expect(await get(`${http}/health`)).toMatchObject({ status: 200 })
    expect(gateway.stats().counters.busGaps).toBe(1)
  })

  it('turns agents away with 503 when too many are not admitted yet', async () => {
    const gateway = buildGateway({
      config: world.config('n2'),
      bus: world.bus,
      logger: pino({ level: 'silent' }),
      limits: { maxNewcomers: 3 },
    })
    world.gateways.push(gateway)
    const { url } = await gateway.listen()
    for (let n = 0; n < 3; n++) await connect(dialSocket(url), world.device())
    await expect(connect(dialSocket(url), world.device())).rejects.toThrow('503')
  })

  it('counts everything where it can be scraped', async () => {
    const config = { ...world.config('n3'), metrics: { host: '127.0.0.1', port: 0 } }
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
    const gateway = buildGateway({ config, bus: world.bus, logger })
    world.gateways.push(gateway)
    const { url } = await gateway.listen()
    const metrics = lines.map((line) => JSON.parse(line).metrics as string | undefined).find(Boolean)
    const agent = await connect(dialSocket(url), world.device())
    await agent.greet()
    agent.peer.send(Buffer.from([0x0a, 0xff, 0xff]))
    await agent.peer.closed
    const text = await scrape(metrics ?? '')
    expect(text).toContain('svc_edge_admitted_total 1')
    expect(text).toContain('svc_edge_closed_total{reason="malformed_frame"} 1')
    expect(text).toContain('svc_edge_devices 0')
    expect(text).toContain('svc_edge_event_loop_delay_p99_seconds')
  })

  it('two hundred hostile connections never hurt another one', async () => {
    const { url, gateway } = await gatewayOn()
    const bystander = await connect(dialSocket(url), world.device())
    await bystander.greet()
    const device = world.device()
    for (let n = 0; n < 200; n++) {
      const agent = await connect(dialSocket(url), device)
      if (n % 2) await agent.greet()
      agent.peer.send(randomBytes(1 + (n % 250)))
      if (n % 3) agent.peer.close()
    }
    bystander.send({ heartbeat: {} })
    expect((await bystander.next()).heartbeatAck).toBeTruthy()
    await until(() => gateway.stats().residents + gateway.stats().newcomers <= 2)
    expect(gateway.stats().counters.errors).toBe(0)
  })
})
