import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { none, percentile, type Row } from '../verdict.ts'
import type { Heard, Play } from './bystander.ts'
import { type Scene, transports } from './scene.ts'

const perTransport = 2
const limitMs = 200
const readyWithinMs = 60_000

/** Well-behaved devices on each transport, and how soon they are answered while others misbehave. */
export class Bystanders {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(scene: Scene): Promise<Bystanders> {
    const identities = await scene.devices(perTransport * transports.length)
    const devices = identities.map((identity, n) => {
      const transport = transports[n % transports.length] ?? 'websocket'
      return { transport, url: scene.doors[transport], identity }
    })
    const child = fork(join(import.meta.dirname, 'bystander.ts'), { execArgv: ['--import', 'tsx'] })
    child.send({ devices } satisfies Play)
    await answerOf(child)
    return new Bystanders(child)
  }

  /** What they saw since the last time: none was lost, and the slowest but one of a hundred was answered in time. */
  async rows(during: string, timed: boolean): Promise<Row[]> {
    this.#child.send('tell')
    const { latenciesMs, lost } = (await answerOf(this.#child)) as Heard
    const p99 = percentile(latenciesMs, 0.99)
    return [
      none(`well-behaved devices that were cut ${during}`, lost),
      {
        what: `how late their heartbeats are answered ${during}, p99 of ${latenciesMs.length}`,
        expected: timed ? `< ${limitMs} ms` : 'is measured',
        seen: `${p99.toFixed(1)} ms`,
        pass: timed ? p99 < limitMs : Number.isFinite(p99),
      },
    ]
  }

  close(): void {
    this.#child.kill()
  }
}

const answerOf = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => over(new Error('the bystanders do not answer')), readyWithinMs)
    const over = (error: Error) => {
      clearTimeout(timer)
      reject(error)
    }
    const ended = (code: number | null) => over(new Error(`the bystanders ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      clearTimeout(timer)
      child.off('exit', ended)
      resolve(message)
    })
  })
