import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bundle } from '../../tools/bundle.mjs'
import { TestGateway } from '../test/gateway.ts'
import { eventually } from '../test/eventually.ts'

const main = join(await bundle(), 'agent.mjs')
let gateway: TestGateway
let dir: string

beforeEach(async () => {
  gateway = await TestGateway.open()
  dir = await mkdtemp(join(tmpdir(), 'agent-main-'))
})
afterEach(async () => {
  await gateway.close()
  await rm(dir, { recursive: true, force: true })
})

/** Starts the program; `finished` answers what it said and how it ended. */
function run(args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, ...env } })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
  const finished = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }))
  return { child, said, finished }
}

it('runs a fleet for so many seconds and ends with one JSON object', async () => {
  const { finished } = run([
    'fleet',
    '--api',
    gateway.api,
    '--key',
    'k',
    '--agents',
    '3',
    '--seconds',
    '1.5',
    '--json',
  ])
  const { code, out, err } = await finished
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toMatchObject({ agents: 3, connected: 3, stopped: 0 })
  for (const peer of gateway.peers.values()) expect(peer.of('goodbye')).toHaveLength(1)
})

it('tells people how a fleet did, and fails when devices were lost', async () => {
  gateway.enrollAnswer = () => ({
    status: 401,
    body: { error: { code: 'ENROLLMENT_KEY_INVALID', message: 'no' } },
  })
  const { code, out, err } = await run([
    'fleet',
    '--api',
    gateway.api,
    '--key',
    'k',
    '--agents',
    '1',
    '--seconds',
    '1',
  ]).finished
  expect(code).toBe(1)
  expect(out).toContain('connect p50')
  expect(err).toBe('device 1: enrollment refused: ENROLLMENT_KEY_INVALID: no\n')
})

it('runs this machine as a device until SIGTERM, then says goodbye and exits 0', async () => {
  const env = { SVC_API: gateway.api, SVC_ENROLLMENT_KEY: 'k', SVC_AGENT_STATE: dir }
  const { child, said, finished } = run(['host'], env)
  await eventually(() => said.out).toContain('connected')
  child.kill('SIGTERM')
  expect((await finished).code).toBe(0)
  expect(gateway.peer.of('goodbye')).toHaveLength(1)
})

it('can be told to end while it still waits for its enrollment', async () => {
  gateway.enrollAnswer = () => ({
    status: 503,
    body: { error: { code: 'UNAVAILABLE', message: '' }, retryAfter: 60 },
  })
  const { child, said, finished } = run(['host', '--api', gateway.api, '--key', 'k', '--state-dir', dir])
  await eventually(() => said.out).toContain('UNAVAILABLE')
  child.kill('SIGINT')
  expect((await finished).code).toBe(0)
})
