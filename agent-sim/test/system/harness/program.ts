import { join } from 'node:path'
import { bundle } from '../../../../tools/bundle.mjs'
import { type Child, startChild } from '../../../../tools/services/child.ts'

export interface ProgramOptions {
  /** the bundle's entry: `control-plane`, `gateway`, `agent` */
  entry: string
  args?: string[]
  env: Record<string, string>
  /** the line that says it can be used */
  ready: RegExp
  /** where the bundles lie; absent: those of the present sources */
  folder?: string
}

/** A program of the product in a process of its own, as an operator starts it. */
export interface Program extends Child {
  /** What it printed so far. */
  log(): string
  /** Asks it to end; resolves with how it did. */
  terminate(): Promise<string>
  /** SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void
}

let built: Promise<string> | undefined

/** Starts it and waits until it is ready. It does not outlive this process. */
export async function startProgram({
  entry,
  args = [],
  env,
  ready,
  folder,
}: ProgramOptions): Promise<Program> {
  const from = folder ?? (await (built ??= bundle()))
  const lines: string[] = []
  const child = await startChild({
    name: entry,
    command: process.execPath,
    args: ['--enable-source-maps', join(from, `${entry}.mjs`), ...args],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    ready,
    readyWithinMs: 60_000,
    stopSignal: 'SIGTERM',
    onLog: (line) => lines.push(line),
  })
  return {
    ...child,
    log: () => lines.join('\n'),
    terminate: async () => {
      await child.stop()
      return child.outcome
    },
    signal: (signal) => void process.kill(child.pid, signal),
  }
}
