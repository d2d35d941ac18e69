import { findProgram, sbin } from '../../../tools/services.ts'
import { type Child, startChild } from '../../../tools/services/child.ts'

/** The program, if it is installed. */
export const findHaproxy = (): string | undefined => findProgram('haproxy', undefined, sbin)

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
