import { type ChildProcess, fork } from 'node:child_process'
import { builtProgram, type Program } from './built.ts'
import type { Answer, Call } from './serve.ts'

/** A child that serves calls. */
export interface Served {
  pid: number
  /** what it has printed so far */
  log: () => string
  call: (name: string, argument?: unknown) => Promise<unknown>
  kill: () => Promise<void>
}

/** Starts a program that serves calls (`serve.ts`). A call that is under way when it ends is rejected. */
export async function startServed(program: Program, nodeArgs: string[] = []): Promise<Served> {
  const child: ChildProcess = fork(await builtProgram(program), {
    execArgv: nodeArgs,
    // Ctrl-C in the terminal reaches the parent alone, which ends things in order.
    detached: true,
    silent: true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} could not be started`)
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let over: string | undefined
  void ended.then(() => {
    over = `${program} has ended\n${log}`.trim()
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
        // Without somebody to tell, what could not be sent would end the whole run.
        child.send(call, (error) => {
          if (!error) return
          waiting.delete(id)
          reject(error)
        })
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
