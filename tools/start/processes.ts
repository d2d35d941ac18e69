import { fork } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RoleName, Settings } from './child.ts'
import type { DataFolder } from './data-folder.ts'
import { Expected } from './options.ts'
import type { Running } from './stack.ts'
import { within } from './within.ts'

const stopWithinMs = 20_000
const beginWithinMs = 120_000
const tailLines = 12

/** What a child says to its parent. */
export type FromChild = { ready: unknown } | { news: string } | { failed: string }

/** A part of the product in a process of its own. */
export interface Part extends Running {
  pid: number
  /** Hands over the settings; resolves with what the part says when it can be used. Fails after `withinMs`, 2 minutes unless told otherwise. */
  begin<T>(settings: Settings, withinMs?: number): Promise<T>
}

/**
 * Starts the process of one part; it loads its code while others still start, and waits for its settings. It lies in a
 * session of its own, so that Ctrl-C reaches this process alone, and ends when the channel to this process breaks,
 * whatever ended us. What it prints goes to its log.
 * The data folder stands on its command line for whoever looks at the list of processes.
 */
export function startPart(name: RoleName, folder: DataFolder, onNews: (text: string) => void): Part {
  const logFile = folder.freshLog(name)
  const log = openSync(logFile, 'a', 0o600)
  const child = fork(join(import.meta.dirname, 'child.mjs'), [name, folder.path], {
    detached: true,
    execArgv: ['--enable-source-maps'],
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)

  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (code, signal) =>
      resolve(`ended with ${signal ?? `code ${code}`}; the end of its log:\n${tail(logFile)}`),
    )
  })
  const ready = new Promise<unknown>((resolve, reject) => {
    child.on('message', (message: FromChild) => {
      if ('ready' in message) resolve(message.ready)
      else if ('news' in message) onNews(message.news)
      else reject(new Expected(`${name}: ${message.failed}`))
    })
    void exited.then((how) => reject(new Error(`${name} ${how}`)))
  })
  ready.catch(() => undefined) // told to whoever calls `begin`

  return {
    name,
    pid: child.pid ?? 0,
    exited,
    kill: () => child.kill('SIGKILL'),
    begin: <T>(settings: Settings, withinMs = beginWithinMs) => {
      child.send(settings, () => undefined)
      const late = () =>
        `${name} is not ready after ${withinMs / 1000} s; the end of its log:\n${tail(logFile)}`
      return within(ready as Promise<T>, withinMs, late)
    },
    stop: async () => {
      const impatient = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
      child.kill('SIGTERM')
      await exited
      clearTimeout(impatient)
      if (child.signalCode === 'SIGKILL')
        throw new Error(`${name} did not end within ${stopWithinMs / 1000} s and was killed`)
    },
  }
}

/** The last lines of a log file. */
export const tail = (file: string): string =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(-tailLines)
    .map((line) => `  ${line}`)
    .join('\n')
