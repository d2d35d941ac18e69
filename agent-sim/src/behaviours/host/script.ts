import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandArgs } from '@svc/proto'
import type { Context, Done } from '../behaviour.ts'
import { Capture } from '../output.ts'
import { killTree, marker } from './kill-tree.ts'

const interpreters: Partial<Record<CommandArgs<'run_script'>['interpreter'], string>> = {
  sh: 'sh',
  bash: 'bash',
  python3: 'python3',
}

/** A script inherits these and nothing else: the agent's own settings hold secrets. */
const inherited = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TERM)$/

/** After the script itself ended, what it left running may hold its output open; it is read this much longer. */
const drainWithinMs = 250

/** Runs a script in a process group of its own. Everything that it started ends with a cancel or a timeout. */
export async function runScript(args: CommandArgs<'run_script'>, context: Context): Promise<Done> {
  const interpreter = interpreters[args.interpreter]
  if (!interpreter) return { failed: `${args.interpreter} is not available on this system` }
  const folder = await mkdtemp(join(tmpdir(), 'svc-script-'))
  try {
    const file = join(folder, 'script')
    await writeFile(file, args.content, { mode: 0o700 })
    return await runFile(interpreter, [file, ...args.args], context)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function runFile(
  interpreter: string,
  args: readonly string[],
  { commandId, signal }: Context,
): Promise<Done> {
  const child = spawn(interpreter, args, {
    // A session and process group of its own (setsid(2)), no terminal, end of file on stdin.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: '/',
    env: { ...environment(), [marker]: commandId },
  })
  return supervise(child, interpreter, commandId, signal)
}

async function supervise(
  child: ChildProcess,
  interpreter: string,
  commandId: string,
  signal: AbortSignal,
): Promise<Done> {
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('no pipes to the script')
  const [out, err] = [new Capture(stdout), new Capture(stderr)]
  const kill = () => void killTree(child.pid, commandId)
  signal.addEventListener('abort', kill, { once: true })
  if (signal.aborted) kill()
  try {
    const ended = await endOf(child)
    const outputs = { stdout: out.output(), stderr: err.output() }
    return { ...verdict(ended), ...outputs, result: null }
  } catch (error) {
    return { failed: startError(error, interpreter) }
  } finally {
    signal.removeEventListener('abort', kill)
    stdout.destroy()
    stderr.destroy()
  }
}

interface End {
  code: number | null
  signal: NodeJS.Signals | null
}

/** `close` waits for everybody who holds the pipes, even a daemon that the script left behind: `exit` is what counts. */
const endOf = (child: ChildProcess): Promise<End> =>
  new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const end = () => resolve({ code, signal })
      const limit = setTimeout(end, drainWithinMs)
      child.once('close', () => {
        clearTimeout(limit)
        end()
      })
    })
  })

function verdict({ code, signal }: End): Done {
  if (code === 0) return { exitCode: 0 }
  return code === null ? { failed: `ended by ${signal}` } : { exitCode: code, failed: `exit code ${code}` }
}

function startError(error: unknown, interpreter: string): string {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `${interpreter} is not installed`
  return error instanceof Error ? error.message : String(error)
}

const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => inherited.test(name)))
