import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, unprivileged } from './account.ts'
import { type Child, ServiceFailure, startChild } from './child.ts'
import { onFreePort } from './port.ts'
import { ensureCluster, placeData, postgresEnv, readPassword } from './postgres-data.ts'
import { recordOwner, settleEarlier } from './postgres-lock.ts'
import { postgresBinaries } from './postgres-files.ts'

export interface PostgresOptions {
  dataDir: string
  /** A free one when absent. */
  port?: number | undefined
  /** False: the data need not survive, so nothing is synced to disk, and `stop` removes them. Default true. */
  persistent?: boolean
  /** Server settings on top of the defaults. */
  settings?: Record<string, string>
  onLog?: (line: string) => void
  /** Told when the data had to go to another place than asked. Default: printed. */
  onNotice?: (line: string) => void
}

export interface Postgres {
  /** The superuser's, to the database `postgres`. */
  url: string
  port: number
  pid: number
  /** Where the data really are. */
  dataDir: string
  exited: Promise<void>
  /** Ends sessions, writes everything out, waits until the server is gone. */
  stop: () => Promise<void>
  /** Ends the server as a crash would; the data stay, also when not persistent. */
  kill: () => Promise<void>
  /** The server and its sessions stand still: connections stay, new ones are accepted by the kernel, and nothing answers. */
  hang: () => void
  /** They go on. */
  goOn: () => void
}

const always = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  max_connections: '200',
}

const disposable = {
  // Tests have several systems beside each other on one server.
  max_connections: '500',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  // A background worker in a template database holds up its cloning.
  autovacuum: 'off',
}

/** Starts the embedded Postgres on its own data folder, making that first if need be. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { persistent = true, port: wanted, onNotice = console.log } = options
  const account = unprivileged(options.dataDir)
  const dataDir = placeData(options.dataDir, account)
  const bin = postgresBinaries(account)
  if (dataDir !== resolve(options.dataDir)) onNotice(`Postgres keeps its data in ${dataDir}`)
  ensureCluster(bin, dataDir, account, persistent)
  await settleEarlier(dataDir)
  recordOwner(dataDir)
  return onFreePort(wanted, async (port) => {
    const server = await whenFreed(() => launch(bin, dataDir, port, account, options))
    return {
      url: `postgres://postgres:${readPassword(dataDir)}@127.0.0.1:${port}/postgres`,
      port,
      pid: server.pid,
      dataDir,
      exited: server.exited,
      kill: server.kill,
      hang: () => signalAll(server.pid, 'SIGSTOP'),
      goOn: () => signalAll(server.pid, 'SIGCONT'),
      stop: async () => {
        await server.stop()
        if (!persistent) rmSync(dataDir, { recursive: true, force: true })
      },
    }
  })
}

/** Itself first, so that it makes no more of them. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  process.kill(pid, signal)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  for (const child of children.split(' ').filter(Boolean)) {
    try {
      process.kill(Number(child), signal)
    } catch (error) {
      // A session may have ended since.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function launch(
  bin: string,
  dataDir: string,
  port: number,
  account: Account | undefined,
  options: PostgresOptions,
) {
  const settings = { ...always, ...(options.persistent === false ? disposable : {}), ...options.settings }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return startChild({
    name: 'Postgres',
    command: join(bin, 'postgres'),
    args: ['-D', dataDir, '-p', String(port), ...flags],
    account,
    env: postgresEnv,
    ready: /database system is ready to accept connections/,
    readyWithinMs: 60_000,
    stopSignal: 'SIGINT', // "fast": ends the sessions instead of waiting for them
    onLog: options.onLog,
  })
}

/** After a crash the sessions of the dead server hold its shared memory until they notice. */
async function whenFreed(start: () => Promise<Child>): Promise<Child> {
  const patience = Date.now() + 10_000
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const held = error instanceof ServiceFailure && /pre-existing shared memory block/.test(error.message)
      if (!held || Date.now() > patience) throw error
      await sleep(100)
    }
  }
}
