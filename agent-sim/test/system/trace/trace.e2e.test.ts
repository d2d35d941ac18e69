import { afterAll, beforeAll, expect, test } from 'vitest'
import { flawsOf, type LogLine } from '../../../../tools/log/lines.ts'
import type { Api } from '../harness/api.ts'
import { type Crowd, startCrowd } from '../harness/crowd.ts'
import { startProgram } from '../harness/program.ts'
import { startSystem, type System } from '../harness/system.ts'
import { systemTests } from '../harness/suite.ts'
import { until } from '../harness/until.ts'
import { type Receiver, type SeenSpan, startReceiver } from './receiver.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callersSpan = '00f067aa0ba902b7'

systemTests('what the product tells of itself', () => {
  let receiver: Receiver
  let system: System
  let api: Api
  let crowd: Crowd

  beforeAll(async () => {
    receiver = await startReceiver()
    const variables = {
      LOG_LEVEL: 'debug',
      TRACE_CALLERS: '127.0.0.0/8',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_TRACES_SAMPLER_ARG: '0',
      GATEWAY_WORKERS: '2',
    }
    system = await startSystem({ variables })
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 2, name: 'traced' })
  })
  afterAll(async () => {
    await crowd?.fleet.kill()
    await system?.close()
    await receiver?.close()
  })

  const linesOf = (log: string): LogLine[] =>
    log
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine)
  const told = (log: () => string, event: string): LogLine | undefined =>
    linesOf(log()).find((line) => line['event'] === event && line['traceId'] === traceId)
  const span = (name: string): SeenSpan | undefined =>
    receiver.spans.find((one) => one.traceId === traceId && one.name === name)

  test('a command’s trace is in the log of each process, at its agent, and whole at the receiver', async () => {
    const [deviceId = ''] = crowd.ids
    const received = crowd.next((event) => event.kind === 'command')
    const requestId = crypto.randomUUID()
    const headers = { traceparent: `00-${traceId}-${callersSpan}-01`, 'x-request-id': requestId }
    const body = { type: 'run_script', payload: { interpreter: 'sh', content: 'echo traced' } }
    const sent = await api.ask<{ id: string }>('POST', `/devices/${deviceId}/commands`, body, headers)
    expect(sent.status).toBe(201)
    const commandId = sent.body.id
    expect(await received).toMatchObject({ id: commandId, traceId, requestId })
    expect((await api.ended(deviceId, commandId)).status).toBe('succeeded')

    const places: [where: string, log: () => string, event: string][] = [
      ['API', () => system.api.log(), 'http.request'],
      ['worker', () => system.worker.log(), 'command.offered'],
      ['gateway, down', () => system.gateway(0).log(), 'command.frame'],
      ['gateway, up', () => system.gateway(0).log(), 'command.reported'],
      ['worker, result', () => system.worker.log(), 'command.finished'],
    ]
    for (const [where, log, event] of places) {
      await until(`${where} tells of it`, () => told(log, event) !== undefined, 10_000)
      expect(told(log, event)).toMatchObject({ level: 'info', requestId })
      if (event !== 'http.request') expect(told(log, event)).toMatchObject({ commandId, deviceId })
    }
    const rows = await system.sql<{ details: object }[]>`
      select details from audit_log where request_id = ${requestId}`
    expect(rows).toMatchObject([{ details: { commandId } }])

    // From the caller to the result: each below the one before.
    const route = 'POST /api/v1/devices/:id/commands'
    const chain = [route, 'command dispatch', 'gateway frame', 'gateway result', 'command result']
    await until('all is exported', () => chain.every((name) => span(name)), 15_000)
    let parent = callersSpan
    for (const name of chain) {
      expect(span(name), name).toMatchObject({ parentSpanId: parent })
      parent = span(name)?.spanId ?? ''
    }
    expect(span('database transaction')).toMatchObject({ parentSpanId: span(route)?.spanId })
    expect(chain.map((name) => span(name)?.service)).toEqual([
      'svc-control-plane',
      'svc-control-plane',
      'svc-gateway',
      'svc-gateway',
      'svc-control-plane',
    ])
    expect(new Set(receiver.spans.map((one) => one.traceId))).toEqual(new Set([traceId]))
  })

  test('without a trace of its own a request gets one, by its id, and nobody is shown it', async () => {
    const [deviceId = ''] = crowd.ids
    const received = crowd.next((event) => event.kind === 'command')
    const before = receiver.spans.length
    const id = await api.send(deviceId, 'list_processes')
    const event = await received
    expect(event).toMatchObject({ id, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) })
    await api.ended(deviceId, id)
    const of = (log: string) =>
      linesOf(log).filter((line) => event.kind === 'command' && line['traceId'] === event.traceId)
    await until('all tell of it', () =>
      of(system.worker.log()).some((line) => line['event'] === 'command.finished'),
    )
    const lines = [system.api, system.worker, system.gateway(0)].flatMap((program) => of(program.log()))
    expect(new Set(lines.map(({ level }) => level))).toEqual(new Set(['debug']))
    expect(new Set(lines.map((line) => String(line['requestId']).replaceAll('-', '')))).toEqual(
      new Set(lines.map((line) => line['traceId'])),
    )
    expect(receiver.spans.length).toBe(before)
  })

  test('a receiver that takes everything and answers nothing, and one that is gone, hurt no request', async () => {
    const [deviceId = ''] = crowd.ids
    const traced = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const headers = { traceparent: `00-${crypto.randomUUID().replaceAll('-', '')}-${callersSpan}-01` }
        const began = performance.now()
        const { status } = await api.ask('GET', `/devices/${deviceId}`, undefined, headers)
        expect(status).toBe(200)
        // Who waits for the receiver waits for 5 s.
        expect(performance.now() - began).toBeLessThan(5_000)
      }
    }
    receiver.hang()
    await traced(100)
    await receiver.close()
    await traced(20)
    await until('it is told', () => system.api.log().includes('spans were not exported'), 20_000)
  })

  test('every line of every process is one of the schema, also when all goes wrong', async () => {
    const anonymous = await fetch(`${system.apiUrl}/api/v1/devices`, {
      headers: { authorization: 'Bearer x' },
    })
    expect(anonymous.status).toBe(401)
    expect(anonymous.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    await api.ask('POST', '/auth/login', { email: 'nobody@example.com', password: 'not the password' })
    await fetch(system.environment['EXCHANGE_URL'] ?? '', { method: 'POST' })
    const env = { ...system.environment, NODE_ENV: 'test' }
    const failing = async (entry: string, more: Record<string, string>) =>
      startProgram({ entry, env: { ...env, ...more }, ready: /never/ }).then(
        () => '',
        (error: Error) => error.message.split('\n').slice(1).join('\n'),
      )
    const last = await Promise.all([
      failing('control-plane', { METRICS_PORT: '0', INTERNAL_PORT: '0' }),
      failing('control-plane', { DATABASE_URL: 'x' }),
      failing('gateway', { GATEWAY_WORKERS: '0' }),
      failing('gateway', { GATEWAY_PORT: new URL(system.gatewayUrls[0] ?? '').port }),
    ])
    await system.redis.stop()
    await until('it is noticed', () => system.gateway(0).log().includes('bus is away'))
    await until('the API notices', () => system.api.log().includes('the bus cannot be used'))
    await Promise.all([system.api, system.worker, system.gateway(0)].map((program) => program.terminate()))
    const logs = [system.api, system.worker, system.gateway(0)].map((program) => program.log())
    expect([...logs, ...last].flatMap(flawsOf)).toEqual([])
    const lines = [...logs, ...last].flatMap(linesOf)
    expect(new Set(lines.map((line) => line['service']))).toEqual(
      new Set(['control-plane', 'gateway', 'supervisor']),
    )
    for (const text of last)
      expect(linesOf(text).at(-1)).toMatchObject({ level: 'fatal', event: 'process.failed' })
    expect(new Set(lines.filter((line) => line['security']).map((line) => line['event']))).toEqual(
      new Set(['credential.refused', 'login.refused', 'gateway.refused']),
    )
  })
})
