import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { bundle } from '../../../tools/bundle.mjs'

// Built once per run: from its sources each start would take seconds of a processor.
const main = join(await bundle(), 'control-plane.mjs')

export interface Program {
  /** ends it; `SIGTERM` unless told otherwise */
  kill: (signal?: NodeJS.Signals) => void
  /** where it listens. Rejects when it ends before it does */
  isUp: Promise<Record<string, string>>
  /** its exit code, and the last words of its log, with whatever else it said on standard error */
  ended: Promise<{ code: number | null; err: string }>
  exitCode: () => number | null
  errors: () => string
}

/** The control plane as an operator runs it, a process of its own. Whoever starts it ends it. */
export function startProgram(env: Record<string, string>, args: readonly string[] = []): Program {
  const child = spawn(process.execPath, ['--enable-source-maps', main, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  let [out, err, up] = ['', '', false]
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const ended = new Promise<{ code: number | null; err: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, err: [...lastWords(out), err].join('\n').trim() }))
  })
  const isUp = new Promise<Record<string, string>>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      if (up) return
      const line = out.split('\n').find((text) => text.includes('control plane is up'))
      if (!line) return
      up = true
      resolve((JSON.parse(line) as { details: Record<string, string> }).details)
    })
    void ended.then((end) => reject(new Error(`it ended with ${end.code}: ${end.err}`)))
  })
  isUp.catch(() => undefined) // not everybody waits for it
  return {
    kill: (signal = 'SIGTERM') => void child.kill(signal),
    isUp,
    ended,
    exitCode: () => child.exitCode,
    errors: () => err,
  }
}

const lastWords = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => line.includes('"level":"fatal"'))
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
