import { type ChildProcess, spawn } from 'node:child_process'
import type { Account } from './account.ts'

const tailLines = 40

/** A service that did not start; the message ends with the last lines of its log. */
export class ServiceFailure extends Error {}

export interface ChildOptions {
  name: string
  command: string
  args: string[]
  account?: Account | undefined
  env?: NodeJS.ProcessEnv
  /** Written to its standard input: what must not stand on a command line that others can read. */
  input?: string
  /** The log line that says it can be used. */
  ready: RegExp
  readyWithinMs: number
  /** How it is asked to end in an orderly way. */
  stopSignal: 'SIGINT' | 'SIGTERM'
  onLog?: ((line: string) => void) | undefined
}

export interface Child {
  pid: number
  /** Settles when it is gone, however that came. */
  exited: Promise<void>
  /** When it is gone: `ended with code 0`, `ended with SIGKILL`. */
  outcome: Promise<string>
  /** Asks it to end and waits; after `withinMs` it is killed. */
  stop: (withinMs?: number) => Promise<void>
  /** Ends it at once, as a crash would. */
  kill: () => Promise<void>
}

/**
 * Ends the service when this process is gone, also when that was killed and could not clean up: the shell's standard
 * input is a pipe of which this process holds the only other end. It runs as the service's own user, which has no
 * power over anything else, and is ended together with the service, so the number it holds cannot grow stale.
 */
function guard(pid: number, { stopSignal, account }: ChildOptions): ChildProcess {
  const script = 'read -r _; kill -s "$1" "$2"'
  const guardian = spawn('/bin/sh', ['-c', script, 'sh', stopSignal.slice(3), String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    detached: true,
    ...account,
  })
  guardian.on('error', () => undefined)
  guardian.unref()
  guardian.stdin?.on('error', () => undefined)
  return guardian
}

/** Starts a service and waits until it says that it is ready. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, command, args, account, env, input, ready, readyWithinMs, stopSignal, onLog } = options
  // In a session of its own: Ctrl-C in the terminal reaches this process alone, which stops things in order.
  const child = spawn(command, args, { cwd: '/', detached: true, env, stdio: 'pipe', ...account })
  const tail: string[] = []
  const failure = (what: string) => new ServiceFailure([`${name} ${what}`, ...tail].join('\n'))

  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    // `close`, not `exit`: only then has the last line of the log been read.
    child.once('close', (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}`))
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const guardian = child.pid === undefined ? undefined : guard(child.pid, options)
  void exited.then(() => guardian?.kill('SIGKILL'))

  const started = new Promise<void>((resolve) => {
    const read = (line: string) => {
      tail.push(line)
      if (tail.length > tailLines) tail.shift()
      onLog?.(line)
      if (ready.test(line)) resolve()
    }
    for (const stream of [child.stdout, child.stderr]) eachLine(stream, read)
  })
  const gone = exited.then(() => undefined)
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await gone
  }
  const stop = async (withinMs = 15_000) => {
    const impatient = setTimeout(() => child.kill('SIGKILL'), withinMs)
    await end(stopSignal)
    clearTimeout(impatient)
  }

  let late: NodeJS.Timeout | undefined
  const outcome = await Promise.race([
    started.then(() => undefined),
    exited,
    new Promise<string>((resolve) => {
      late = setTimeout(resolve, readyWithinMs, `was not ready within ${readyWithinMs / 1000} s`)
    }),
  ])
  clearTimeout(late)
  if (outcome !== undefined || child.pid === undefined) {
    if (child.pid !== undefined) await end('SIGKILL')
    throw failure(outcome ?? 'has no process')
  }
  return { pid: child.pid, exited: gone, outcome: exited, stop, kill: () => end('SIGKILL') }
}

function eachLine(stream: NodeJS.ReadableStream, read: (line: string) => void) {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) read(line)
  })
}
