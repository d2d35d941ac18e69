import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A machine on which an agent is installed: its launcher and its agent are processes of their own. */
export class Machine {
  readonly folder = mkdtempSync(join(tmpdir(), 'agent-update-'))
  readonly stateDir = join(this.folder, 'state')
  readonly installed = join(this.folder, 'svc-agent')
  readonly #env: NodeJS.ProcessEnv
  #launcher: ChildProcess | undefined
  log = ''

  constructor(bytes: Uint8Array, env: NodeJS.ProcessEnv) {
    this.install(bytes)
    this.#env = { ...process.env, SVC_ENROLLMENT_KEY: 'k', SVC_AGENT_STATE: this.stateDir, ...env }
  }

  install(bytes: Uint8Array): void {
    writeFileSync(this.installed, bytes, { mode: 0o755 })
  }

  /** As the service manager does when the machine starts. */
  start(env: NodeJS.ProcessEnv = {}): void {
    const launcher = spawn(this.installed, ['run'], { env: { ...this.#env, ...env } })
    for (const stream of [launcher.stdout, launcher.stderr])
      stream.on('data', (chunk: Buffer) => (this.log += chunk.toString()))
    this.#launcher = launcher
  }

  get isLaunched(): boolean {
    return this.#launcher?.exitCode === null && this.#launcher.signalCode === null
  }

  get exitCode(): number | null {
    return this.#launcher?.exitCode ?? null
  }

  /** The agent's process; undefined: there is none now. */
  get agentPid(): number | undefined {
    const launcher = this.#launcher?.pid
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find((pid) => parentOf(pid) === launcher)
  }

  /** SHA-256 of the file that the agent's process was started from, as it is now. */
  get runningHash(): string | undefined {
    const pid = this.agentPid
    const [, file = ''] = pid === undefined ? [] : textOf(`/proc/${pid}/cmdline`).split('\0')
    return file && existsSync(file) ? sha256(readFileSync(file)) : undefined
  }

  /** Loss of power: both at once. */
  kill(): void {
    const agent = this.agentPid
    this.#launcher?.kill('SIGKILL')
    if (agent !== undefined) process.kill(agent, 'SIGKILL')
  }

  killLauncher(): void {
    this.#launcher?.kill('SIGKILL')
  }

  /** Somebody removes the agent's file, and what was before it. */
  lose(): void {
    rmSync(join(this.stateDir, 'bin'), { recursive: true })
  }

  async stop(): Promise<void> {
    if (!this.#launcher || !this.isLaunched) return
    const gone = once(this.#launcher, 'exit')
    this.#launcher.kill('SIGTERM')
    await gone
  }

  async close(): Promise<void> {
    await this.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The name in parentheses may hold anything (proc(5)). */
const parentOf = (pid: number): number =>
  Number(textOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1])
