import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { bundle } from '../../tools/bundle.mjs'
import { isAlive } from '../../tools/services/abandoned.ts'
import { pause } from './harness.ts'

const main = join(await bundle(), 'gateway.mjs')
const patienceMs = 20_000

export interface RunOptions {
  args?: string[]
  /** of the runtime, before the program */
  flags?: string[]
  /** what the process may open: prlimit(1) */
  descriptors?: number
}

/** One line of a log. */
export type Line = Record<string, unknown>

/** The gateway's program in a process of its own, as an operator runs it; it does not outlive the test that it was started in. */
export class Program {
  readonly pid: number
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>
  out = ''
  /** beside its log: what no program of ours says */
  raw = ''
  readonly #kill: (signal: NodeJS.Signals) => void
  readonly #unread: () => void

  constructor(env: Record<string, string>, { args = [], flags = [], descriptors }: RunOptions) {
    const command = [process.execPath, ...flags, main, ...args]
    const limited = descriptors ? ['prlimit', `--nofile=${descriptors}`, ...command] : command
    const child = spawn(limited[0] ?? '', limited.slice(1), {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.on('data', (chunk) => {
      this.out += chunk
    })
    child.stderr.on('data', (chunk) => {
      this.raw += chunk
    })
    this.pid = child.pid ?? 0
    this.exited = new Promise((resolve) => child.on('exit', (code) => resolve(code)))
    this.#unread = () => {
      child.stdout.destroy()
      child.stderr.destroy()
    }
    this.#kill = (signal) => void child.kill(signal)
  }

  /** The last words of its log, each with the end of its line. */
  get err(): string {
    const fatal = this.out.split('\n').filter((line) => line.includes('"level":"fatal"'))
    return [...fatal.map((line) => `${(JSON.parse(line) as { msg: string }).msg}\n`), this.raw].join('')
  }

  /** Stops reading what it says, as a log shipper that dies does. */
  unread(): void {
    this.#unread()
  }

  kill(signal: NodeJS.Signals): void {
    this.#kill(signal)
  }

  /** All lines of its log with that message. */
  lines(msg: string): Line[] {
    return (
      this.out
        .split('\n')
        .filter((line) => line.includes(`"msg":"${msg}"`))
        .map((line) => JSON.parse(line) as Line)
        // Its details beside the rest of it.
        .map(({ details, ...line }) => ({ ...line, ...(details as Line) }))
    )
  }

  /** The line with that message, once it is there, or the nth of them. */
  async said(msg: string, nth = 1): Promise<Line> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      const line = this.lines(msg)[nth - 1]
      if (line) return line
      if (Date.now() > deadline) throw new Error(`it does not say "${msg}": ${this.out}${this.raw}`)
      await pause(20)
    }
  }

  /** Where agents connect, once they can. */
  async listening(): Promise<string> {
    return String((await this.said('accepting agents'))['url'])
  }

  /** The process ids of its workers. */
  workers(): number[] {
    return [...new Set(this.lines('accepting agents').map(({ pid }) => Number(pid)))].filter(isAlive)
  }
}

/** Starts the program with these variables beside the least that it needs. */
export function run(env: Record<string, string>, options: RunOptions = {}): Program {
  const program = new Program(
    { GATEWAY_PORT: '0', MQTT_PORT: '0', MQTTS_PORT: 'off', GATEWAY_METRICS_PORT: 'off', ...env },
    options,
  )
  // Workers end by themselves when their supervisor is gone.
  onTestFinished(() => program.kill('SIGKILL'))
  return program
}
