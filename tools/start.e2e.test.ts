import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { findRedisServer, freePort } from './services.ts'

const root = join(import.meta.dirname, '..')
const data = mkdtempSync(join(tmpdir(), 'svc-start-'))
// The database runs as another user: where that one gets through, its files are here and go with the rest.
chmodSync(data, 0o711)
const started: ReturnType<typeof command>[] = []

afterAll(async () => {
  for (const { child, exited } of started) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  }
  rmSync(data, { recursive: true, force: true })
})

/** Runs a command of the repository; what it prints is collected. */
function command(args: readonly string[], options: SpawnOptions = {}, program = process.execPath) {
  const child = spawn(program, args, { cwd: root, ...options, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (output += text))
  const exited = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)))
  return { child, exited, output: () => output }
}

/** Waits until the output holds the text. */
async function saying(run: ReturnType<typeof command>, text: string | RegExp, withinMs = 90_000) {
  const found = () => (typeof text === 'string' ? run.output().includes(text) : text.test(run.output()))
  for (const patience = Date.now() + withinMs; !found(); await sleep(50)) {
    const gone = run.child.exitCode !== null
    if (gone || Date.now() > patience)
      throw new Error(`${gone ? 'ended' : 'no answer'} before ${text}:\n${run.output()}`)
  }
}

async function freeSwitches(): Promise<{ port: number; switches: string[] }> {
  const names = ['port', 'gateway-port', 'mqtt-port', 'internal-port', 'metrics-port', 'gateway-metrics-port']
  const ports = await Promise.all(names.map(() => freePort()))
  return { port: ports[0] ?? 0, switches: names.flatMap((name, i) => [`--${name}`, String(ports[i])]) }
}

async function start(folder: string, ...more: string[]) {
  const { port, switches } = await freeSwitches()
  const run = command(['tools/start.mjs', '--data', folder, ...switches, ...more])
  started.push(run)
  return { ...run, run, api: `http://127.0.0.1:${port}`, switches }
}

/** What runs a shell as a person would. This process goes on meanwhile: it holds connections, too. */
const shell = async (line: string): Promise<string> =>
  (await promisify(execFile)('sh', ['-c', line], { cwd: root, encoding: 'utf8' })).stdout

/** The last line that a start prints. */
const last = 'Ctrl-C ends everything.'

/** The commands that a start offers; the third one is two lines that belong together. */
function printed(output: string) {
  const lines = output.split('\n').map((line) => line.trim())
  const [health = '', list = '', ...processes] = lines.filter((line) => /^(curl|H=)/.test(line))
  for (const line of [health, list, ...processes]) expect(line.length).toBeLessThan(220)
  return { health, list, processes: processes.join('\n') }
}

const deviceIn = (line: string) => /devices\/([0-9a-f-]{36})\//.exec(line)?.[1] ?? ''

async function expectProcesses(line: string) {
  const result = JSON.parse(await shell(line)) as { status: string; result: { processes: unknown[] } }
  expect(result).toMatchObject({ status: 'succeeded' })
  expect(result.result.processes.length).toBeGreaterThan(0)
}

/** Processes whose command line names the data folder: all but Redis, whose port is in the output. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return line.includes(folder) ? [`${pid} ${line}`] : []
      } catch {
        return []
      }
    })
}

/** The servers that a start brought along are gone. */
async function expectClosed(output: string) {
  const ports = [...output.matchAll(/own, on port (\d+)/g)].map(([, port]) => port)
  expect(ports).not.toEqual([])
  for (const port of ports)
    await expect(fetch(`http://127.0.0.1:${port}`), `port ${port}`).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    })
}

test('--help explains every switch', async () => {
  const run = command(['tools/start.mjs', '--help'])
  expect(await run.exited).toBe(0)
  for (const name of [
    '--data',
    '--port',
    '--gateway-port',
    '--agents',
    '--no-host-agent',
    '--show-admin',
    '--bus',
  ])
    expect(run.output()).toContain(name)
})

test('a switch that does not exist is one line', async () => {
  const run = command(['tools/start.mjs', '--prot', '1'])
  expect(await run.exited).toBe(1)
  expect(run.output().trim().split('\n')).toHaveLength(1)
})

test('a port in use is one line that names it and what changes it', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const { run } = await start(join(data, 'taken'), '--agents', '0', '--gateway-port', String(port))
  expect(await run.exited).toBe(1)
  expect(existsSync(join(data, 'taken'))).toBe(false)
  expect(run.output()).toMatch(
    new RegExp(`Port ${port} of the gateway is in use.*--gateway-port.*GATEWAY_PORT`),
  )
  expect(run.output().trimEnd().split('\n').at(-1)).toContain(String(port))
  server.close()
})

test('a start that fails says why in one line, ends, and leaves nothing', async () => {
  const folder = join(data, 'no-database')
  const { switches } = await freeSwitches()
  const env = { ...process.env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const run = command(['tools/start.mjs', '--data', folder, ...switches], { env })
  started.push(run)
  expect(await run.exited).toBe(1)
  expect(run.output().trimEnd().split('\n').at(-1)).toMatch(
    /^The database that DATABASE_URL names cannot be used: .*ECONNREFUSED/,
  )
  expect(existsSync(folder)).toBe(false)
  expect(processesOf(folder)).toEqual([])
})

test('the product comes up over memory, its printed commands work, and it ends without a trace', async () => {
  const folder = join(data, 'memory')
  const first = await start(folder, '--agents', '5', '--bus', 'memory')
  await saying(first.run, last)
  expect(first.run.output()).toMatch(/ ready\n/)
  expect(first.run.output()).toContain('5 simulated agents are connected')
  expect(first.run.output()).toMatch(/password +\S{20,}/)
  expect(first.run.output()).toMatch(/otpauth:\/\/totp\/\S+secret=[A-Z2-7]+/)

  const { health, list, processes } = printed(first.run.output())
  expect(JSON.parse(await shell(health))).toMatchObject({ version: expect.any(String) as string })
  expect(first.run.output()).toContain(`${first.api}/docs`)
  expect((await fetch(`${first.api}/docs/reference.js`)).status).toBe(200)
  expect((JSON.parse(await shell(list)) as { devices: unknown[] }).devices).toHaveLength(3)
  await expectProcesses(processes)

  const forgot = await fetch(`${first.api}/api/v1/auth/forgot-password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'admin@demo.example' }),
  })
  expect(forgot.status).toBe(200)
  const mailed = `mail to admin@demo.example: Reset your password ${first.api}/reset-password#token=svcl_`
  await saying(first.run, mailed)
  const reset = await fetch(`${first.api}/api/v1/auth/reset-password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: /svcl_[\w-]{43}/.exec(first.run.output())?.[0], password: 'password1' }),
  })
  expect(await reset.json()).toMatchObject({ error: { code: 'WEAK_PASSWORD' } })

  const second = command(['tools/start.mjs', '--data', folder])
  expect(await second.exited).toBe(1)
  expect(second.output().trim()).toMatch(/^A server is running on \S+ already \(process \d+\)[^\n]*$/)
  const admin = command(['tools/start.mjs', '--data', folder, '--show-admin'])
  expect(await admin.exited).toBe(0)
  expect(admin.output()).toMatch(/code now +\d{6}/)

  const token = (await shell(/npm run -s token[^)]*/.exec(list)?.[0] ?? '')).trim()
  const all = JSON.parse(await shell(list.replace('limit=3', 'limit=100'))) as {
    devices: { id: string; hostname: string }[]
  }
  const host = deviceIn(processes)
  const simulated = all.devices.find(({ id }) => id !== host)?.id ?? ''
  for (const id of [host, simulated]) {
    const headers = { authorization: `Bearer ${token}` }
    const gone = await fetch(`${first.api}/api/v1/devices/${id}`, { method: 'DELETE', headers })
    expect(gone.status).toBe(200)
  }
  await saying(first.run, 'this machine’s device was removed')
  await saying(first.run, '1 simulated device removed')

  // The audit log is sealed here, too, and is verified beside the server and without it.
  const heads = join(folder, 'audit/audit-heads.jsonl')
  await expect.poll(() => existsSync(heads)).toBe(true)
  const beside = await shell(`npm run -s audit -- verify --data ${folder}`)
  expect(beside).toMatch(/^audit log +[1-9]\d* sealed rows in \d chains/)
  expect(beside).toMatch(/heads +[1-9]\d* compared, signatures checked/)
  // What is done on a server alone needs to be told nothing here.
  expect(await shell(`SVC_DATA=${folder} npm run -s svc-admin -- check`)).toMatch(
    / all migrations applied\nkeys .+ the ones of this database\n$/,
  )

  first.run.child.kill('SIGTERM')
  expect(await first.run.exited).toBe(0)
  expect(first.run.output().trimEnd()).toMatch(/ ended$/)
  const without = JSON.parse(await shell(`npm run -s audit -- verify --json --data ${folder}`)) as object
  expect(without).toMatchObject({ whole: true, signatures: true })
  expect(processesOf(folder)).toEqual([])
  await expectClosed(first.run.output())

  const began = Date.now()
  const again = await start(folder, '--agents', '5', '--bus', 'memory')
  let served = false
  while (!served) {
    served = await fetch(`${again.api}/health`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (!served) await sleep(20)
    if (again.run.child.exitCode !== null) throw new Error(again.run.output())
  }
  console.log(`second start over memory: first request served after ${Date.now() - began} ms`)
  await saying(again.run, last)
  expect(again.run.output()).not.toContain('password')
  expect(again.run.output()).toContain('the server no longer wants 1 simulated device: replaced by new ones')
  expect(again.run.output()).toContain(`the server no longer wants ${host}: this machine is enrolled anew`)
  const restarted = printed(again.run.output())
  expect(deviceIn(restarted.processes)).not.toBe(host)
  await expectProcesses(restarted.processes)
  const now = JSON.parse(await shell(restarted.list.replace('limit=3', 'limit=100'))) as {
    devices: unknown[]
  }
  expect(now.devices).toHaveLength(6)
  const version = '9.9.9'
  const released = await shell(`npm run -s release -- publish --version ${version} --data ${folder}`)
  expect(released).toContain(`${version}: agent:linux/amd64`)
  const latest = 'agent-versions/latest?platform=linux&arch=amd64'
  expect(JSON.parse(await shell(restarted.list.replace('devices?limit=3', latest)))).toMatchObject({
    version,
  })
  expect(readdirSync(join(folder, 'releases'))).toHaveLength(2) // and that of the agents that run

  // A part that ends by itself is reported, and everything else ends with it.
  const victim = processesOf(folder).find((line) => line.includes('child.mjs fleet'))
  process.kill(Number(victim?.split(' ')[0]), 'SIGKILL')
  expect(await again.run.exited).toBe(1)
  expect(again.run.output()).toContain('fleet ended with SIGKILL')
  expect(processesOf(folder)).toEqual([])
})

// Over Redis, where there is one: what differs from memory is that there are gateways of their own.
test('after SIGKILL the parts end by themselves, the next start recovers, and Ctrl-C on `npm start` exits 0', async () => {
  const folder = join(data, 'killed')
  const several = findRedisServer() ? ['--gateway-workers', '2'] : []
  const first = await start(folder, '--agents', '3', ...several)
  await saying(first.run, last)
  const gateways = processesOf(folder).filter((line) => line.includes('gateway.mjs'))
  expect(gateways).toHaveLength(several.length)
  first.run.child.kill('SIGKILL')
  await first.run.exited
  const args = ['start', '--', '--data', folder, ...first.switches, '--agents', '2', '--no-host-agent']
  const again = command(args, { detached: true }, 'npm')
  started.push(again)
  await saying(again, last)
  expect(again.output()).toContain('of earlier starts 1 more stay offline')
  const { health, list, processes } = printed(again.output())
  expect(JSON.parse(await shell(health))).toMatchObject({ version: expect.any(String) as string })
  expect((JSON.parse(await shell(list)) as { devices: unknown[] }).devices).toHaveLength(3)
  await expectProcesses(processes)
  // A terminal sends Ctrl-C to the whole group: npm, its shell if there is one, and the start tool.
  process.kill(-(again.child.pid ?? 0), 'SIGINT')
  expect(await again.exited).toBe(0)
  expect(processesOf(folder)).toEqual([])
  await expectClosed(again.output())
})

/** With `DEMO_BUS=memory` over the other bus, on which the test of the printed commands runs in any case. */
const bus = process.env['DEMO_BUS'] ?? (findRedisServer() ? 'redis' : 'memory')

test(`the demo over ${bus} loses nothing and leaves nothing`, async () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('svc-demo-'))
  const demo = command([
    'tools/demo.mjs',
    '--agents',
    '30',
    '--seconds',
    '8',
    '--bus',
    bus,
    '--transport',
    'mix',
    '--json',
  ])
  started.push(demo)
  const code = await demo.exited
  expect(demo.output(), 'what the demo says').toMatch(/^\{/)
  const report = JSON.parse(demo.output()) as Record<string, unknown>
  expect(report).toMatchObject({
    bus,
    agents: 30,
    connected: 30,
    offlineCommandRanOnce: true,
    updated: 0,
    errors: [],
  })
  const transports = report['transports'] as Record<string, { connected: number; commands: number }>
  const connected = Object.entries(transports).map(([kind, { connected }]) => [kind, connected])
  expect(Object.fromEntries(connected)).toEqual({ websocket: 21, mqtt: 6, 'mqtt-ws': 3 })
  expect(report['heartbeatsPersisted']).toBeGreaterThan(29)
  expect(report['commands']).toMatchObject({ sent: 88, succeeded: 88, failed: 0 })
  expect(code).toBe(0)
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('svc-demo-'))).toEqual(before)
})

test('secrets are readable by their owner alone', () => {
  for (const name of ['demo.json', 'tokens.json', 'edge-shared-key', 'release/release-key.pem'])
    expect(statSync(join(data, 'memory', name)).mode & 0o077, name).toBe(0)
})
