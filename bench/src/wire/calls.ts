import { type ChildProcess, fork } from 'node:child_process'

/** Calls to a child process, over the channel that Node gives it: one function of the child's per name, arguments and answers as JSON. */

type Handlers = Record<string, (argument: never) => unknown>

interface Call {
  id: number
  name: string
  argument: unknown
}
interface Answer {
  id: number
  value?: unknown
  error?: string
}

/** The child's side. It ends with its parent, whatever became of that. */
export function serveCalls(handlers: Handlers): void {
  process.on('disconnect', () => process.exit(1))
  process.on('message', ({ id, name, argument }: Call) => {
    const answer = (rest: Omit<Answer, 'id'>) => void process.send?.({ id, ...rest })
    const run = async () => handlers[name]?.(argument as never)
    void run().then(
      (value) => answer({ value }),
      (error: Error) => answer({ error: error.message }),
    )
  })
}

/** A child that serves calls. */
export interface Served {
  pid: number
  /** what it has printed so far */
  log: () => string
  call: (name: string, argument?: unknown) => Promise<unknown>
  kill: () => Promise<void>
}

/** Starts a TypeScript file that calls {@link serveCalls}. A call that is under way when it ends is rejected. */
export function startServed(file: string, options: { nodeArgs?: string[]; args?: string[] } = {}): Served {
  const { nodeArgs = [], args = [] } = options
  const child: ChildProcess = fork(file, args, {
    execArgv: ['--import', 'tsx', ...nodeArgs],
    // Ctrl-C in the terminal reaches the parent alone, which ends things in order.
    detached: true,
    silent: true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${file} could not be started`)
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let over: string | undefined
  void ended.then(() => {
    over = `${file} has ended\n${log}`.trim()
    for (const { reject } of waiting.values()) reject(new Error(over))
  })
  child.on('message', ({ id, value, error }: Answer) => {
    const call = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) call?.resolve(value)
    else call?.reject(new Error(error))
  })
  let calls = 0
  return {
    pid,
    log: () => log,
    call: (name, argument) =>
      new Promise((resolve, reject) => {
        if (over !== undefined) return reject(new Error(over))
        const id = ++calls
        waiting.set(id, { resolve, reject })
        const call: Call = { id, name, argument }
        child.send(call)
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
