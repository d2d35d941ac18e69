import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { freePort } from '../../tools/services.ts'
import { ControlPlane } from './control-plane.ts'
import { pause, until } from './harness.ts'
import { type Program, run, type RunOptions } from './program.ts'
import { type Agent, connect, dialSocket, newDevice } from './wire.ts'

let plane: ControlPlane
beforeAll(async () => {
  plane = await new ControlPlane().start()
})
afterAll(() => plane.stop())

const descriptors = 160
const engines: [engine: string, flags: string[]][] = [
  ['uWebSockets.js', []],
  ['ws', ['--import', join(import.meta.dirname, 'no-engine.mjs')]],
]

/** A program that may open little, and what its metrics say. */
const limited = async (options: RunOptions, env: Record<string, string> = {}) => {
  const port = await freePort()
  const program = run(
    {
      NODE_ENV: 'test',
      REDIS_URL: inject('redisUrl'),
      EXCHANGE_URL: plane.url,
      EDGE_SHARED_KEY: plane.key,
      GATEWAY_PORT: String(await freePort()),
      GATEWAY_METRICS_PORT: String(port),
      ...env,
    },
    { descriptors, ...options },
  )
  const url = await program.listening()
  const metric = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }
  return { program, url, metric }
}

/** One more agent that is in; undefined where nobody listens. Whom a listener resets that closes comes again. */
const arrive = async (url: string): Promise<Agent | undefined> => {
  const device = newDevice()
  plane.knows(device)
  const agent = await connect(dialSocket(url), device).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') return arrive(url)
    if (error.code === 'ECONNREFUSED') return undefined
    throw error
  })
  if (agent) expect((await agent.greet()).welcome).toBeTruthy()
  return agent
}

/** Agents come until nobody is let in any more. */
const fill = async (url: string, most = 1_000): Promise<Agent[]> => {
  const agents: Agent[] = []
  while (agents.length < most) {
    const agent = await arrive(url)
    if (!agent) return agents
    agents.push(agent)
  }
  return agents
}

/**
 * Share of a second in which the event loop has something to do: it runs, or waits for a core. Who spins is near 1 on any machine,
 * however busy that is (proc(5), schedstat).
 */
const busy = async ({ pid }: Program): Promise<number> => {
  const busyNs = () => {
    const [running = 0, waiting = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return running + waiting
  }
  const [before, since] = [busyNs(), performance.now()]
  await pause(1_000)
  return (busyNs() - before) / 1e6 / (performance.now() - since)
}

const openOf = ({ pid }: Program): number => readdirSync(`/proc/${pid}/fd`).length

describe.runIf(process.platform === 'linux')('a gateway whose descriptors run out', () => {
  it.each(engines)(
    'with %s, stops listening, keeps whom it has, and listens again when some have left',
    async (_engine, flags) => {
      const { program, url, metric } = await limited({ flags })
      const agents = await fill(url)
      expect(agents.length).toBeGreaterThan(descriptors / 3)
      expect(await program.said('descriptors run out: not listening')).toMatchObject({ limit: descriptors })
      expect(await metric('svc_edge_paused')).toBe(1)
      expect(await metric('svc_edge_descriptors')).toBeLessThan(descriptors)
      expect(await metric('svc_edge_descriptors_limit')).toBe(descriptors)
      const late = setInterval(() => void arrive(url), 50)
      // Where others hold the cores it waits for one now and then; who spins rests in no second.
      await expect.poll(() => busy(program)).toBeLessThan(0.7)
      clearInterval(late)
      for (const agent of agents) {
        agent.send({ heartbeat: { agentVersion: '1.0.0' } })
        expect((await agent.next()).heartbeatAck).toBeTruthy()
      }
      for (const agent of agents.splice(0, 20)) agent.peer.close()
      await program.said('descriptors are free again: listening')
      expect(await arrive(url)).toBeTruthy()
      expect(await metric('svc_edge_paused')).toBe(0)
      expect(await metric('svc_edge_descriptor_pauses_total')).toBe(1)
    },
  )

  it('spins and serves nobody new when nothing guards it', async () => {
    const { program, url } = await limited({}, { SVC_TEST_WITHOUT: 'descriptor_guard' })
    let answered = false
    const filling = fill(url, descriptors).then(
      () => {
        answered = true
      },
      () => undefined, // whoever is being admitted when it is killed
    )
    // Before it is full it may be as busy, where it has to wait for a core.
    await until(() => openOf(program) >= descriptors, 'no descriptor left')
    await until(async () => (await busy(program)) > 0.9, 'a spin')
    expect(answered).toBe(false)
    expect(program.lines('descriptors run out: not listening')).toEqual([])
    program.kill('SIGKILL')
    await filling
  })

  it('as one of several workers leaves newcomers to the others, and all are told by the supervisor', async () => {
    const { program, url, metric } = await limited({ args: ['--workers', '2'] })
    await program.said('all workers accept agents')
    const agents = await fill(url)
    expect(agents.length).toBeGreaterThan((2 * descriptors) / 3)
    expect(await metric('svc_edge_supervisor_ports_paused')).toBe(2)
    for (const agent of agents) agent.peer.close()
    await until(async () => (await metric('svc_edge_supervisor_ports_paused')) === 0, 'all listen')
    expect(await arrive(url)).toBeTruthy()
  })
})
