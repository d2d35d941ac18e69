import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { startChild } from './child.ts'
import { onFreePort } from './port.ts'
import { findProgram } from './program.ts'

export interface RedisOptions {
  /** Its working folder; nothing is kept there. */
  dir: string
  /** A free one when absent. */
  port?: number | undefined
  /** A random one when absent. Give port and password of an earlier one to bring it back, empty, at the same URL. */
  password?: string
  /** The program; found on PATH when absent. */
  command?: string
  /** More lines for its configuration. */
  settings?: Record<string, string>
  onLog?: (line: string) => void
}

export interface Redis {
  url: string
  port: number
  password: string
  pid: number
  exited: Promise<void>
  stop: () => Promise<void>
  /** Ends it as a crash would. */
  kill: () => Promise<void>
}

/** The `redis-server` on PATH, if there is one. */
export const findRedisServer = (path?: string): string | undefined => findProgram('redis-server', path)

/** Starts a Redis of our own that keeps nothing and that only this machine can reach, with a password. */
export async function startRedis(options: RedisOptions): Promise<Redis> {
  const command = options.command ?? findRedisServer()
  if (!command) throw new Error('there is no redis-server on PATH')
  const { dir, password = randomBytes(24).toString('base64url'), onLog } = options
  mkdirSync(dir, { recursive: true })
  return onFreePort(options.port, async (port) => {
    const settings = {
      port: String(port),
      bind: '127.0.0.1',
      requirepass: password,
      save: '""',
      appendonly: 'no',
      dir: JSON.stringify(dir),
      daemonize: 'no',
      ...options.settings,
    }
    const server = await startChild({
      name: 'Redis',
      command,
      args: ['-'],
      env: { PATH: process.env['PATH'], TZ: 'UTC' },
      input: Object.entries(settings)
        .map(([name, value]) => `${name} ${value}\n`)
        .join(''),
      ready: /Ready to accept connections/,
      readyWithinMs: 15_000,
      stopSignal: 'SIGTERM',
      onLog,
    })
    return {
      url: `redis://:${password}@127.0.0.1:${port}`,
      port,
      password,
      pid: server.pid,
      exited: server.exited,
      stop: () => server.stop(),
      kill: server.kill,
    }
  })
}
