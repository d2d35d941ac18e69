import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../tools/services.ts'
import type { Bench, Ground } from '../method/contract.ts'
import { cpuMicrosOfTree } from '../method/cpu.ts'

const root = join(import.meta.dirname, '../../..')
const withinMs = 180_000
/** What a start ends its output with once agents are connected. */
const readyText = 'Ctrl-C ends everything.'
const pollMs = 20

/** `npm start` on a data folder that an earlier one has made: everything on, both cores, until the first request is served. */
export const start: Bench = {
  name: 'start',
  title: 'Cold start of the whole product',
  measures: [
    { name: 'first request served', unit: 'seconds', digits: 2 },
    { name: 'CPU until then', unit: 'seconds', digits: 2 },
    { name: 'ready', unit: 'seconds', digits: 2 },
  ],
  figures: [
    {
      id: 'A5',
      title: 'npm start, second run, embedded database, to the first request served',
      measure: 'first request served',
      side: 'ours',
      target: { atMost: 6 },
      limitedBy: 'Postgres, which must be there first, and Node, which reads the bundles',
    },
  ],
  run,
}

async function run(ground: Ground): Promise<void> {
  const data = join(ground.folder, 'data')
  ground.progress('the first start, which makes the database')
  await oneStart(ground, data)
  for (let round = 1; round <= ground.rounds; round++) {
    ground.progress(`round ${round}: npm start`)
    ground.saw('ours', round, await oneStart(ground, data), 0)
  }
}

/** From the command to its end. */
async function oneStart(ground: Ground, data: string): Promise<Record<string, number>> {
  const names = ['port', 'gateway-port', 'mqtt-port', 'internal-port', 'metrics-port', 'gateway-metrics-port']
  const ports = await Promise.all(names.map(() => freePort()))
  const switches = names.flatMap((name, at) => [`--${name}`, String(ports[at])])
  const agents = ['--agents', String(ground.scale)]
  const began = performance.now()
  // A session of its own: Ctrl-C in the terminal reaches this process alone, which ends the start in order.
  const child = spawn('npm', ['start', '--', '--data', data, ...agents, ...switches], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT')
    await ended
  }
  ground.afterwards(end)
  const seconds = () => (performance.now() - began) / 1_000
  const until = async (holds: () => Promise<boolean> | boolean, what: string) => {
    while (!(await holds())) {
      if (child.exitCode !== null || performance.now() - began > withinMs)
        throw new Error(`npm start came to no ${what}:\n${said}`)
      await sleep(pollMs)
    }
    return seconds()
  }
  const health = `http://127.0.0.1:${ports[0]}/health/ready`
  const first = await until(() => served(health), 'request served')
  const used = cpuMicrosOfTree(child.pid ?? 0) / 1e6
  const ready = await until(() => said.includes(readyText), 'end')
  await end()
  if (child.exitCode !== 0) throw new Error(`npm start ended with ${child.exitCode}:\n${said}`)
  return { 'first request served': first, 'CPU until then': used, ready }
}

/** Served is what says that database, bus and schema are as they must be. */
const served = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.ok,
    () => false,
  )
