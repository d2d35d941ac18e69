import { createServer, type AddressInfo, connect } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testConfig } from '../test/harness/app.ts'
import { databaseForFile } from '../test/harness/database.ts'
import {
  buildControlPlane,
  type Config,
  type ControlPlane,
  KeyError,
  ListenError,
  MigrationError,
} from './index.ts'
import postgres from 'postgres'
import { pino } from 'pino'

const database = await databaseForFile()
const keysDir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
afterAll(() => rmSync(keysDir, { recursive: true }))
const logger = pino({ level: 'silent' })
const built: ControlPlane[] = []

const configWith = (env: Record<string, string> = {}): Config =>
  testConfig(database.url, { KEYS_DIR: keysDir, DRAIN_MS: '500', ...env })

async function build(env: Record<string, string> = {}, role: 'api' | 'worker' | 'all' = 'api') {
  const controlPlane = await buildControlPlane({ config: configWith(env), logger, role })
  built.push(controlPlane)
  return controlPlane
}

beforeAll(async () => {
  await build() // makes the keys of this database
})
afterEach(async () => {
  await Promise.all(built.splice(0).map((one) => one.close()))
})

const get = async (url: string) => {
  const response = await fetch(url)
  return { status: response.status, body: await response.text() }
}

describe('the control plane', () => {
  test('listens, is ready, tells its metrics, and closes once however often it is told', async () => {
    const one = await build({}, 'all')
    const { apiUrl, internalUrl, metricsUrl } = await one.listen()
    expect((await get(`${apiUrl}/health`)).body).toContain('"version"')
    // An event loop that stood still while it started is told of for a while.
    await expect.poll(async () => (await get(`${apiUrl}/health/ready`)).status).toBe(200)
    expect((await get(`${apiUrl}/api/v1/devices`)).status).toBe(401)
    expect((await get(`${internalUrl}/internal/edge/exchange`)).status).toBe(401)
    expect((await get(metricsUrl)).body).toMatch(
      /svc_http_requests_total\{route="\/api\/v1\/devices",method="GET",status="4xx"\} 1/,
    )
    await Promise.all([one.close(), one.close()])
    await expect(fetch(`${apiUrl}/health`)).rejects.toThrow()
    expect(await one.close()).toBeUndefined()
  })

  test('asks no tenant’s address that is of the inside or its own, says so in one line, and counts it', async () => {
    const lines: string[] = []
    const watched = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
    const config = configWith({ PUBLIC_URL: 'https://console.svc.test', EGRESS_PORTS: '443 1024-65535' })
    const one = await buildControlPlane({ config, logger: watched, role: 'api' })
    built.push(one)
    const { metricsUrl } = await one.listen()
    const { port } = new URL(metricsUrl)
    const refused = { code: 'ADDRESS_DENIED' }
    await expect(one.ports.egress.fetch(`https://127.0.0.1:${port}/`, { key: 'org' })).rejects.toMatchObject(
      refused,
    )
    await expect(one.ports.egress.fetch(`https://10.1/secret?a=b`, { key: 'org' })).rejects.toMatchObject(
      refused,
    )
    const denied = lines
      .filter((line) => line.includes('leads to the inside'))
      .map((line) => JSON.parse(line).denied)
    expect(denied).toEqual([
      { key: 'org', host: '127.0.0.1', kind: 'loopback', address: '127.0.0.1' },
      { key: 'org', host: '10.0.0.1', kind: 'private', address: '10.0.0.1' },
    ])
    expect(lines.join('')).not.toContain('secret')
    const metrics = (await get(metricsUrl)).body
    expect(metrics).toContain('svc_egress_denied_total{kind="loopback"} 1')
    expect(metrics).toContain('svc_egress_request_seconds_count{outcome="address_denied"} 2')
    await one.close()
    await expect(one.ports.egress.fetch('https://127.0.0.1/')).rejects.toMatchObject({ code: 'BUSY' })
  })

  test('as a worker answers nobody but the collector of metrics', async () => {
    const { apiUrl, internalUrl, metricsUrl } = await (await build({}, 'worker')).listen()
    expect([apiUrl, internalUrl]).toEqual([undefined, undefined])
    expect((await get(metricsUrl)).status).toBe(200)
  })

  test('names the port that is in use and the variable that changes it', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => squatter.once('listening', resolve))
    const { port } = squatter.address() as AddressInfo
    for (const variable of ['PORT', 'INTERNAL_PORT', 'METRICS_PORT']) {
      const listening = (await build({ [variable]: String(port) })).listen()
      await expect(listening).rejects.toThrow(
        `port ${port} on 127.0.0.1 is in use: set ${variable} to another`,
      )
      await expect(listening).rejects.toBeInstanceOf(ListenError)
    }
    squatter.close()
  })

  test('finishes what runs when it is told to close, and cuts what does not end', async () => {
    const one = await build()
    const { apiUrl } = await one.listen()
    const { port, hostname } = new URL(apiUrl ?? '')
    // A request whose body does not end: closing must not wait for it longer than DRAIN_MS.
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.write(
      'POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    )
    await sleep(50)
    const begun = performance.now()
    await one.close()
    await ended
    const took = performance.now() - begun
    expect(took).toBeGreaterThan(400)
    expect(took).toBeLessThan(15_000)
  })

  test('goes on answering while balancers notice that it is not ready', async () => {
    const one = await build({ DRAIN_DELAY_MS: '600' })
    const { apiUrl } = await one.listen()
    const closing = one.close()
    const ready = await get(`${apiUrl}/health/ready`)
    expect([ready.status, JSON.parse(ready.body).failing]).toEqual([503, ['draining']])
    expect((await get(`${apiUrl}/health`)).status).toBe(200)
    expect((await get(`${apiUrl}/api/v1/devices`)).status).toBe(401)
    await closing
    await expect(fetch(`${apiUrl}/health`)).rejects.toThrow()
  })

  test.each<[string, string, number]>([
    [
      'bad framing',
      'GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
    ],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['headers without end', `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ])('answers %s with the envelope and closes', async (_what, bytes, status) => {
    const { apiUrl } = await (await build()).listen()
    const { port, hostname } = new URL(apiUrl ?? '')
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname)
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString()
      })
      socket.on('close', () => resolve(text))
      socket.on('error', () => undefined)
      socket.write(bytes)
    })
    expect(answer.startsWith(`HTTP/1.1 ${status} `)).toBe(true)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ error: { details: [] } })
  })

  test('without its database is unready, names the part, and decides nothing', async () => {
    const one = await build({ DATABASE_APP_URL: 'postgres://x@127.0.0.1:1/none' })
    const { apiUrl } = await one.listen()
    const ready = await get(`${apiUrl}/health/ready`)
    expect([ready.status, JSON.parse(ready.body).parts.postgres]).toEqual([503, 'ECONNREFUSED'])
    expect((await get(`${apiUrl}/health`)).status).toBe(200)
    const { accessToken } = await one.ports.tokens.issue({
      userId: crypto.randomUUID(),
      sessionId: crypto.randomUUID(),
      authEpoch: 1,
      mfa: true,
      amr: [],
      membership: null,
    })
    const answer = await fetch(`${apiUrl}/api/v1/devices`, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await answer.json()).toMatchObject({ error: { code: 'UNAVAILABLE' }, retryAfter: 2 })
  })
})

describe('a start is refused in one line', () => {
  const refusal = async (env: Record<string, string>) => {
    try {
      await build(env)
    } catch (error) {
      return error as Error
    }
    throw new Error('it started')
  }

  test('with another master key than the database was sealed under, and with none', async () => {
    const other = mkdtempSync(join(keysDir, 'other-'))
    const none = await refusal({ KEYS_DIR: other })
    expect(none).toBeInstanceOf(KeyError)
    expect(none.message).toMatch(/^master key [0-9a-f]{8} of this database is not in .* \(KEYS_DIR\)$/)
    const fresh = await databaseOf()
    await (await build({ KEYS_DIR: other, DATABASE_URL: fresh.url })).close()
    const wrong = await refusal({ KEYS_DIR: other })
    expect(wrong.message).toMatch(
      /^master key [0-9a-f]{8} of this database is not in .* \(KEYS_DIR\), which holds [0-9a-f]{8}$/,
    )
    rmSync(other, { recursive: true })
    await fresh.drop()
  })

  test('while migrations are pending and AUTO_MIGRATE is false', async () => {
    const empty = await databaseOf(false)
    const pending = await refusal({ AUTO_MIGRATE: 'false', DATABASE_URL: empty.url })
    expect(pending).toBeInstanceOf(MigrationError)
    expect(pending.message).toMatch(/^migration \d{12}_\w+\.sql is pending/)
    await empty.drop()
  })
})

/** One more database, migrated by the product itself. */
async function databaseOf(migrated = true) {
  const admin = postgres(database.url, { max: 1, onnotice: () => undefined })
  const name = `svc_test_cp_${crypto.randomUUID().slice(0, 8)}`
  await admin.unsafe(`create database ${name}`)
  const url = new URL(database.url)
  url.pathname = `/${name}`
  if (migrated) await (await import('./db/migrate.ts')).migrate(url.href)
  return {
    url: url.href,
    drop: async () => {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end()
    },
  }
}
