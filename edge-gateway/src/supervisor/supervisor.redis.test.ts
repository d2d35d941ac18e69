import { copyFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { freePort } from '../../../tools/services.ts'
import { ControlPlane } from '../../test/control-plane.ts'
import { until } from '../../test/harness.ts'
import { enter } from '../../test/mqtt/client.ts'
import { isAlive } from '../../../tools/services/abandoned.ts'
import { type Program, run } from '../../test/program.ts'
import { type Agent, connect, dialSocket, get, newDevice } from '../../test/wire.ts'

let plane: ControlPlane
beforeAll(async () => {
  plane = await new ControlPlane().start()
})
afterAll(() => plane.stop())

const settings = (more: Record<string, string> = {}) => ({
  NODE_ENV: 'test',
  REDIS_URL: inject('redisUrl'),
  EXCHANGE_URL: plane.url,
  EDGE_SHARED_KEY: plane.key,
  ...more,
})

const noEngine = ['--import', join(import.meta.dirname, '../../test/no-engine.mjs')]

/** Two workers that accept agents, and where. */
const supervised = async (more: Record<string, string> = {}, flags: string[] = []) => {
  const metrics = await freePort()
  const program = run(settings({ GATEWAY_METRICS_PORT: String(metrics), ...more }), {
    args: ['--workers', '2'],
    flags,
  })
  await program.said('all workers accept agents')
  const text = async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
  const metric = async (line: string) =>
    Number(new RegExp(`^${line.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(await text())?.[1])
  return { program, url: await program.listening(), metrics, text, metric }
}

const known = () => {
  const device = newDevice()
  plane.knows(device)
  return device
}

/** So many agents, admitted. */
const admit = async (url: string, count: number): Promise<Agent[]> => {
  const agents: Agent[] = []
  for (let n = 0; n < count; n++) {
    const agent = await connect(dialSocket(url), known())
    expect((await agent.greet()).welcome).toBeTruthy()
    agents.push(agent)
  }
  return agents
}

/** How many sockets a process holds: none of them an agent's, in a supervisor. */
const socketsOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => linkOf(pid, fd).startsWith('socket:')).length

const linkOf = (pid: number, fd: string): string => {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`)
  } catch {
    return '' // closed meanwhile
  }
}

const nodes = (program: Program) => program.lines('accepting agents').map(({ instance }) => String(instance))

describe('several workers', () => {
  it('share one port, each a node of its own, and nobody else may have it', async () => {
    const { program, url, metrics, text, metric } = await supervised({ GATEWAY_NODE: 'edge-here' })
    const agents = await admit(url, 20)
    const devices = () => Promise.all([1, 2].map((worker) => metric(`svc_edge_devices{worker="${worker}"}`)))
    const [first = 0, second = 0] = await devices()
    expect(first + second).toBe(20)
    expect(Math.min(first, second)).toBeGreaterThan(0)
    const urls = program.lines('accepting agents').flatMap((line) => line['mqtt'] as string[])
    const [mqtt = '', ...others] = new Set(urls.filter((one) => one.startsWith('mqtt:')))
    expect(others).toEqual([])
    const sockets = socketsOf(program.pid)
    for (let n = 0; n < 4; n++) await enter(mqtt, known())
    expect((await devices()).reduce((sum, count) => sum + count)).toBe(24)
    expect(socketsOf(program.pid)).toBe(sockets)
    expect(nodes(program).toSorted()).toEqual(['edge-here.1', 'edge-here.2'])
    expect(new Set(program.lines('accepting agents').map(({ engine }) => engine))).toEqual(
      new Set(['uWebSockets.js']),
    )
    const all = await text()
    for (const worker of [1, 2]) {
      expect(all).toMatch(new RegExp(`^svc_edge_admitted_total{worker="${worker}"} [1-9]`, 'm'))
      expect(all).toMatch(new RegExp(`^svc_edge_event_loop_delay_p99_seconds{worker="${worker}"} `, 'm'))
      expect(all).toMatch(new RegExp(`^svc_edge_supervisor_worker_answers{worker="${worker}"} 1$`, 'm'))
    }
    expect(await metric('svc_edge_supervisor_workers')).toBe(2)
    expect((await get(url.replace(/^ws(.*)agent$/, 'http$1health'))).status).toBe(200)

    const { port } = new URL(url)
    const off = { GATEWAY_METRICS_PORT: 'off' }
    const late = [
      run(settings({ GATEWAY_PORT: port, ...off }), { args: ['--workers', '2'] }),
      run(settings({ GATEWAY_PORT: port, ...off })),
      run(settings({ GATEWAY_WORKERS: '2', GATEWAY_METRICS_PORT: String(metrics) })),
    ]
    expect(await Promise.all(late.map(({ exited }) => exited))).toEqual([1, 1, 1])
    const [supervisor, single, another] = late.map(({ err }) => err)
    const refusal = `^cannot listen on 127.0.0.1 port ${port}[^\\n]*: set GATEWAY_PORT[^\\n]*\\n$`
    expect(supervisor).toMatch(new RegExp(refusal))
    expect(single).toMatch(new RegExp(refusal))
    expect(another).toMatch(
      new RegExp(`^cannot listen on 127.0.0.1 port ${metrics} .*GATEWAY_METRICS_PORT\\n$`),
    )
    expect(late.flatMap((program) => program.lines('supervising'))).toEqual([])
    for (const agent of agents) agent.peer.close()
  })

  it('one that is killed is replaced by another node, and one that hangs holds up no metrics', async () => {
    const { program, url, metric, text } = await supervised()
    const [first = 0, second = 0] = program.workers()
    process.kill(second, 'SIGKILL')
    // What waited for it to accept is reset.
    await until(() => !isAlive(second), 'its end')
    await admit(url, 5)
    await until(() => program.lines('accepting agents').length === 3, 'a replacement')
    expect(new Set(nodes(program)).size).toBe(3)
    expect(isAlive(first)).toBe(true)
    expect(await metric('svc_edge_supervisor_restarts_total{reason="sigkill"}')).toBe(1)
    process.kill(first, 'SIGSTOP')
    const texts = await Promise.all([text(), text()])
    for (const one of texts) expect(one).toMatch(/^svc_edge_supervisor_worker_answers\{worker="1"\} 0$/m)
    expect(texts[0]).not.toMatch(/^svc_edge_devices\{worker="1"\}/m)
    expect(texts[0]).toMatch(/^svc_edge_devices\{worker="2"\}/m)
    process.kill(first, 'SIGCONT')
    await until(
      async () => (await metric('svc_edge_supervisor_worker_answers{worker="1"}')) === 1,
      'an answer',
    )
  })

  it('all drain at once when the supervisor is told to end, which then ends with 0', async () => {
    const { program, url } = await supervised()
    const agents = await admit(url, 10)
    const workers = program.workers()
    program.kill('SIGTERM')
    for (const agent of agents) expect((await agent.next()).move).toBeTruthy()
    for (const agent of agents) agent.peer.close()
    expect(await program.exited).toBe(0)
    expect(workers.filter(isAlive)).toEqual([])
    expect(program.lines('closed')).toHaveLength(2)
    expect(program.lines('a worker has ended')).toEqual([])
  })

  it('all end at once on a second signal', async () => {
    const { program, url } = await supervised()
    const [agent] = await admit(url, 1)
    const workers = program.workers()
    program.kill('SIGTERM')
    await agent?.next()
    program.kill('SIGTERM')
    expect(await program.exited).toBe(130)
    await until(() => !workers.some(isAlive), 'the end of the workers')
  })

  it('drain and end by themselves when the supervisor is killed', async () => {
    const { program, url } = await supervised()
    const agents = await admit(url, 6)
    const workers = program.workers()
    program.kill('SIGKILL')
    for (const agent of agents) expect((await agent.next()).move).toBeTruthy()
    for (const agent of agents) agent.peer.close()
    await until(() => !workers.some(isAlive), 'the end of the workers')
    expect(program.lines('closed')).toHaveLength(2)
  })

  it('share the port where uWebSockets.js does not run, which each says in one line', async () => {
    const { program, url, metric } = await supervised({}, noEngine)
    expect(program.lines('accepting agents').map(({ engine }) => engine)).toEqual(['ws', 'ws'])
    expect(
      program
        .lines('uWebSockets.js does not run here: agents are served with ws')
        .map(({ reason }) => reason),
    ).toEqual(['no binary for this system', 'no binary for this system'])
    await admit(url, 6)
    const devices = [1, 2].map((worker) => metric(`svc_edge_devices{worker="${worker}"}`))
    expect((await Promise.all(devices)).reduce((sum, count) => sum + count)).toBe(6)
  })
})

describe('a supervisor that cannot do what it is told', () => {
  it.each([
    ['REDIS_URL', { REDIS_URL: '' }, ['--workers', '2']],
    ['TLS_CERT_FILE', { TLS_CERT_FILE: '/x', TLS_KEY_FILE: '/x' }, ['--workers', '3']],
    ["Unknown option '--worker'", {}, ['--worker', '3']],
  ])('ends with one line that names %s, and code 78', async (name, env, args) => {
    const program = run(settings(env), { args })
    expect(await program.exited).toBe(78)
    expect(program.err).toMatch(new RegExp(`^${name}[^\\n]*\\n$`))
    expect(program.lines('accepting agents')).toEqual([])
  })

  it('goes on with those who serve while others cannot start, and ends with the reason when nobody serves', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'svc-edge-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
    const tls = join(import.meta.dirname, '../../test/tls')
    copyFileSync(join(tls, 'cert.pem'), TLS_CERT_FILE)
    copyFileSync(join(tls, 'key.pem'), TLS_KEY_FILE)
    const { program, url } = await supervised({ TLS_CERT_FILE, TLS_KEY_FILE })
    const [first = 0, second = 0] = program.workers()
    writeFileSync(TLS_CERT_FILE, 'no certificate')
    process.kill(second, 'SIGKILL')
    expect((await program.said('a worker has ended', 1))['reason']).toBe('sigkill')
    expect((await program.said('a worker has ended', 2))['reason']).toBe('code_78')
    await admit(url, 1)
    process.kill(first, 'SIGKILL')
    expect(await program.exited).toBe(78)
    expect(program.err.trimEnd().split('\n').at(-1)).toMatch(/^TLS_CERT_FILE, TLS_KEY_FILE: /)
  })

  it('names a port in use, and its variable, before there is any worker', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    const program = run(settings({ GATEWAY_PORT: String(port) }), { args: ['--workers', 'auto'] })
    expect(await program.exited).toBe(1)
    expect([program.err, program.lines('supervising')]).toEqual([
      `cannot listen on 127.0.0.1 port ${port}: set GATEWAY_PORT or GATEWAY_HOST\n`,
      [],
    ])
    taken.close()
  })
})
