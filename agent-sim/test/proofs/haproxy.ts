import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Child, startChild } from '../../../tools/services/child.ts'

/** Debian puts it where only an administrator looks. */
const otherFolders = ['/usr/sbin', '/usr/local/sbin']

/** The program, if it is installed. */
export const findHaproxy = (path = process.env['PATH'] ?? ''): string | undefined =>
  [...path.split(delimiter).filter(Boolean), ...otherFolders]
    .map((folder) => join(folder, 'haproxy'))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

export interface HaproxyOptions {
  /** its configuration */
  file: string
  /** what the configuration reads of its environment */
  variables: Record<string, string>
}

/** HAProxy in the foreground, as a service manager runs it: a master, and a worker that it replaces. */
export interface Haproxy extends Child {
  /** Reads the configuration again, in a new worker; the one before goes on with the connections that it has. */
  reload(): void
  /** what it printed so far */
  log(): string
}

/** Starts it; resolves when it listens. It does not outlive this process. */
export async function startHaproxy({ file, variables }: HaproxyOptions): Promise<Haproxy> {
  const command = findHaproxy()
  if (!command) throw new Error('there is no haproxy on PATH')
  const lines: string[] = []
  const child = await startChild({
    name: 'HAProxy',
    command,
    args: ['-W', '-f', file],
    env: { PATH: process.env['PATH'], ...variables },
    ready: /Loading success/,
    readyWithinMs: 15_000,
    stopSignal: 'SIGTERM',
    onLog: (line) => lines.push(line),
  })
  return { ...child, reload: () => void process.kill(child.pid, 'SIGUSR2'), log: () => lines.join('\n') }
}
