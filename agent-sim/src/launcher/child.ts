import { type ChildProcess, spawn } from 'node:child_process'
import { launcherVariable } from './contract.ts'

/** How an agent ended; `code` undefined: by a signal, or it could not be started. */
export interface End {
  code: number | undefined
  how: string
  livedMs: number
}

/** The agent as a process of its own. */
export interface Child {
  readonly ended: Promise<End>
  /** Asks it to end; kills it after `withinMs`. Idempotent. */
  stop(withinMs: number): void
}

/**
 * Starts the program in `file` with the Node that runs this one. In a process group of its own: Ctrl-C in a terminal reaches the
 * launcher alone. The channel between them tells the agent when its launcher is gone.
 */
export function startChild(file: string, args: readonly string[], version: string): Child {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [launcherVariable]: version },
    detached: true,
  })
  return { ended: endOf(child, startedAt), stop: (withinMs) => stop(child, withinMs) }
}

const endOf = (child: ChildProcess, startedAt: number): Promise<End> =>
  new Promise((resolve) => {
    const end = (code: number | undefined, how: string) =>
      resolve({ code, how, livedMs: performance.now() - startedAt })
    child.once('error', (error) => end(undefined, `could not be started: ${error.message}`))
    child.once('exit', (code, signal) => end(code ?? undefined, `ended with ${signal ?? `code ${code}`}`))
  })

function stop(child: ChildProcess, withinMs: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const impatient = setTimeout(() => child.kill('SIGKILL'), withinMs)
  child.once('exit', () => clearTimeout(impatient))
}
