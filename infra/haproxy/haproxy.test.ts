import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { answerWithinMs } from '../../control-plane/src/kernel/deadline.ts'
import { limits } from '../../edge-gateway/src/ops/limits.ts'
import { freePort } from '../../tools/services.ts'
import { type Child, startChild } from '../../tools/services/child.ts'
import { compose } from '../test/compose.ts'
import { alertNames, dashboardNames, exportedNames } from '../test/metric-names.ts'
import { withProgram } from '../test/needs.ts'

/** Of those whom the system trusts; Debian's. */
const authorities = '/etc/ssl/certs/ca-certificates.crt'
const file = join(import.meta.dirname, 'haproxy.cfg')
const text = readFileSync(file, 'utf8')
const variables = readFileSync(join(import.meta.dirname, 'variables.env'), 'utf8')
const described = [...variables.matchAll(/^#?([A-Z0-9_]+)=(.*)$/gm)].map(
  ([, name = '', value = '']) => [name, value] as const,
)

describe('the variables', () => {
  test('are all described, with the defaults that they have', () => {
    const read = [...text.matchAll(/\$\{([A-Z0-9_]+)(?:-([^}]*))?\}/g)].map(
      ([, name = '', value]) => [name, value] as const,
    )
    const slots = (name: string) => name.replace(/_\d/, '_N')
    const known = new Map(described)
    expect(new Set(read.map(([name]) => slots(name)))).toEqual(
      new Set(described.map(([name]) => slots(name))),
    )
    const defaults = read.filter(([, value]) => value !== undefined)
    expect(defaults.length).toBeGreaterThan(8)
    for (const [name, value] of defaults) expect([name, known.get(name)]).toEqual([name, value])
  })

  test('leave the cutting of silent agents to the gateways', () => {
    const tunnelSeconds = Number.parseInt(new Map(described).get('TUNNEL_TIMEOUT') ?? '', 10)
    const heartbeatSeconds = 60
    expect(tunnelSeconds).toBeGreaterThan(limits.silentIntervals * heartbeatSeconds)
    expect(tunnelSeconds).toBeGreaterThan(2 * limits.idleSeconds)
  })
})

describe('haproxy.cfg', () => {
  test('has each server under its own number, with the health of that very one', () => {
    const servers = [...text.matchAll(/^ {4}server (\S+)-(\d) "\$\{([A-Z_]+)_(\d)(\w*)\}" (.*)$/gm)]
    expect(servers).toHaveLength(4 + 8 + 8 + 8 + 4)
    const backends = { 'control-plane': 'control_planes', gateway: 'gateways' } as Record<string, string>
    for (const [line, kind = '', number, variable, slot, what, rest] of servers) {
      expect([variable?.toLowerCase().replace('_', '-'), slot], line).toEqual([kind, number])
      expect(rest, line).toBe(what ? `track ${backends[kind]}/${kind}-${number}` : 'check')
    }
  })

  test('waits for the API longer than that gives itself', () => {
    for (const side of ['client', 'server']) {
      const [, seconds] = new RegExp(`^ {4}timeout ${side} (\\d+)s$`, 'm').exec(text) ?? []
      expect(Number(seconds) * 1_000, side).toBeGreaterThan(answerWithinMs)
    }
  })

  test('holds agents as long in each place where they come in', () => {
    const waits = [...text.matchAll(/^ {4}timeout (\w+) "\$\{TUNNEL_TIMEOUT-180s\}"$/gm)].map(
      ([, one]) => one,
    )
    expect(waits).toEqual(['tunnel', 'client', 'server', 'tunnel', 'client', 'server', 'tunnel'])
  })
})

withProgram('haproxy', 'haproxy', 'HAProxy', (haproxy) => {
  const check = (env: Record<string, string>) => {
    const { status, stdout, stderr } = spawnSync(haproxy, ['-c', '-f', file], { env, encoding: 'utf8' })
    return { status, said: `${stdout}${stderr}`.trim() }
  }
  const valid = { status: 0, said: 'Configuration file is valid' }
  const few = { MAXCONN: '200' }
  const servers = (kind: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [kind.replace('N', `${i + 1}`), `127.0.0.${i + 1}:99`]),
    )

  test.each<[string, Record<string, string>]>([
    ['one of each, without MQTT', { ...servers('CONTROL_PLANE_N', 1), ...servers('GATEWAY_N', 1) }],
    [
      'all slots',
      {
        ...servers('CONTROL_PLANE_N', 4),
        ...servers('CONTROL_PLANE_N_EXCHANGE', 4),
        ...servers('GATEWAY_N', 8),
        ...servers('GATEWAY_N_MQTT', 8),
        ...servers('GATEWAY_N_MQTTS', 8),
        RUN_AS: 'haproxy',
      },
    ],
  ])('takes %s without a warning', (_what, env) => {
    expect(check({ ...few, ...env })).toEqual(valid)
  })

  test.skipIf(!existsSync(authorities))('takes certificates: of its own, of gateways, or of both', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-haproxy-'))
    const pem = join(folder, 'all.pem')
    const [curve, subject] = ['ec_paramgen_curve:P-256', '/CN=x']
    const making = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      curve,
      '-nodes',
      '-days',
      '2',
      '-subj',
      subject,
    ]
    execFileSync('openssl', [...making, '-keyout', pem, '-out', join(folder, 'cert')], { stdio: 'pipe' })
    writeFileSync(pem, readFileSync(pem, 'utf8') + readFileSync(join(folder, 'cert'), 'utf8'))
    const all = {
      ...few,
      ...servers('CONTROL_PLANE_N', 1),
      ...servers('GATEWAY_N', 1),
      ...servers('GATEWAY_N_MQTT', 1),
    }
    expect(check({ ...all, TLS_PEM: pem })).toEqual(valid)
    expect(
      check({
        ...all,
        TLS_PEM: pem,
        GATEWAY_CA: authorities,
        MQTT_BIND: '127.0.0.1:99',
        ...servers('GATEWAY_N_MQTTS', 1),
      }),
    ).toEqual(valid)
    rmSync(folder, { recursive: true })
  })

  test('takes names that cannot be looked up yet, and waits for them', () => {
    const names = { CONTROL_PLANE_1: 'control-plane-1.invalid:8080', GATEWAY_1: 'gateway-1.invalid:8443' }
    expect(check({ ...few, ...names }).status).toBe(0)
  })

  test('refuses what is no address', () => {
    expect(check({ ...few, CONTROL_PLANE_1: 'x:port' }).status).toBe(1)
  })

  describe('in front of servers', () => {
    const seen: IncomingMessage[] = []
    const first: Buffer[] = []
    const health = { ready: true }
    const upstreams: (Server | TcpServer)[] = []
    let proxy: Child
    let [http, mqtt, metrics] = [0, 0, 0]

    const listen = async (server: Server | TcpServer) => {
      upstreams.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return `127.0.0.1:${(server.address() as AddressInfo).port}`
    }
    const answering = (name: string) =>
      createServer((request, response) => {
        if (request.url === '/health/ready') return void response.writeHead(health.ready ? 200 : 503).end()
        seen.push(request)
        if (request.url?.startsWith('/away')) response.statusCode = 503
        response.end(name)
      })
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${http}${path}`, { headers })
      return { status: response.status, body: await response.text() }
    }

    beforeAll(async () => {
      const plane = await listen(answering('control plane'))
      const gateway = await listen(answering('gateway'))
      const broker = await listen(
        createTcpServer((socket) => socket.once('data', (bytes) => first.push(bytes) && socket.end())),
      )
      ;[http, mqtt, metrics] = [await freePort(), await freePort(), await freePort()]
      const env = {
        ...few,
        CONTROL_PLANE_1: plane,
        GATEWAY_1: gateway,
        GATEWAY_1_MQTT: broker,
        HTTP_BIND: `127.0.0.1:${http}`,
        MQTT_BIND: `127.0.0.1:${mqtt}`,
        METRICS_BIND: `127.0.0.1:${metrics}`,
      }
      proxy = await startChild({
        name: 'haproxy',
        command: haproxy,
        args: ['-db', '-V', '-f', file],
        env,
        ready: /Available polling systems|Using epoll/,
        readyWithinMs: 10_000,
        stopSignal: 'SIGTERM',
      })
      // It says the above before it listens.
      const answers = async () => expect((await fetch(`http://127.0.0.1:${metrics}/metrics`)).ok).toBe(true)
      await vi.waitFor(answers, { timeout: 20_000 })
    })
    afterAll(async () => {
      await proxy?.stop()
      for (const server of upstreams) server.close()
    })

    test('agents go to gateways by exactly their paths, all else to control planes', async () => {
      const who = async (path: string) => (await ask(path)).body
      const all = await Promise.all(
        ['/agent', '/mqtt', '/agent?x=1', '/api/v1/devices', '/agent/', '/Agent', '/%61gent'].map(who),
      )
      expect(all).toEqual([
        'gateway',
        'gateway',
        'gateway',
        ...Array.from({ length: 4 }, () => 'control plane'),
      ])
    })

    test('the client is who was seen, whatever it says of itself', async () => {
      seen.splice(0)
      await ask('/api/v1/devices', {
        'x-forwarded-for': '203.0.113.7',
        'x-forwarded-host': 'evil.example',
        forwarded: 'for=203.0.113.7',
        'x-real-ip': '203.0.113.7',
        'x-original-url': '/admin',
        'x-rewrite-url': '/admin',
      })
      const told = Object.entries(seen[0]?.headers ?? {}).filter(([name]) =>
        /forward|real|original|rewrite/.test(name),
      )
      expect(Object.fromEntries(told)).toEqual({
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'http',
      })
    })

    test('what reads is asked again, what writes or signs in is not', async () => {
      const asked = async (method: string, path: string) => {
        seen.splice(0)
        const { status } = await fetch(`http://127.0.0.1:${http}${path}`, { method })
        return [status, seen.length]
      }
      expect(await asked('GET', '/away')).toEqual([503, 4])
      expect(await asked('POST', '/away')).toEqual([503, 1])
      expect(await asked('DELETE', '/away')).toEqual([503, 1])
      expect(await asked('GET', '/away/callback')).toEqual([503, 1])
    }, 60_000)

    test('MQTT over TCP begins with the address of the client, as PROXY v2', async () => {
      const socket = connect(mqtt, '127.0.0.1')
      socket.write('hello')
      await new Promise((resolve) => socket.once('close', resolve).resume())
      const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
      expect(first[0]?.subarray(0, 12)).toEqual(signature)
      expect([...(first[0]?.subarray(16, 20) ?? [])]).toEqual([127, 0, 0, 1])
    })

    test('every metric of it that an alert or the dashboard names is there', async () => {
      const there = exportedNames(await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text())
      const named = [...alertNames(), ...dashboardNames()].filter((name) => name.startsWith('haproxy_'))
      expect(named.length).toBeGreaterThan(2)
      expect(named.filter((name) => !there.has(name))).toEqual([])
    })

    test('the health check of compose sees that it answers, and that nobody does', () => {
      const [, , , script = ''] = compose().services['haproxy']?.healthcheck?.test ?? []
      const check = (port: number) =>
        spawnSync('bash', ['-c', script.replaceAll('$$', '$').replace('8405', String(port))]).status
      expect(script).toContain('/127.0.0.1/8405 ')
      expect(check(metrics)).toBe(0)
      expect(check(1)).not.toBe(0)
    })

    test('who is not ready gets nothing more', async () => {
      health.ready = false
      await expect
        .poll(async () => (await ask('/api/v1/devices')).status, { timeout: 15_000, interval: 200 })
        .toBe(503)
    }, 60_000)
  })

  test('has the exporter of metrics and TLS in it', () => {
    const build = execFileSync(haproxy, ['-vv'], { encoding: 'utf8' })
    expect(build).toMatch(/\+OPENSSL/)
  })
})
