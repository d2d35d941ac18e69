import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unprivileged } from '../../tools/services/account.ts'
import { freePort } from '../../tools/services.ts'

const debian = '/usr/lib/postgresql'
const needed = [
  'initdb',
  'postgres',
  'pg_ctl',
  'psql',
  'pg_basebackup',
  'pg_verifybackup',
  'pg_archivecleanup',
]

/** Where a whole PostgreSQL is, backups included: the embedded one has no more than a server. */
export const postgresWithTools = (): string | undefined =>
  [
    ...(existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, 'bin')) : []),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ].find((bin) => needed.every((name) => existsSync(join(bin, name))))

/**
 * A PostgreSQL of this host, as an operator sets it up: it keeps its log with archive-wal.sh. Its user runs the scripts, too, on a
 * copy of them that it can read.
 */
export class Site {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-restore-'))
  readonly wal = join(this.folder, 'wal')
  readonly base = join(this.folder, 'base')
  readonly #bin: string
  readonly #account = unprivileged('/nonexistent')
  #env: NodeJS.ProcessEnv = {}
  #running: string | undefined

  constructor(bin: string) {
    this.#bin = bin
    chmodSync(this.folder, 0o755)
    this.#own(this.folder)
    for (const name of ['archive-wal.sh', 'base-backup.sh', 'restore.sh'])
      cpSync(join(import.meta.dirname, name), join(this.folder, name))
    mkdirSync(this.wal)
    this.#own(this.wal)
  }

  /** A new database, running, in `data` of the folder. */
  async begin(): Promise<void> {
    const port = String(await freePort())
    this.#env = {
      PATH: process.env['PATH'],
      PGHOST: this.folder,
      PGPORT: port,
      PGUSER: 'svc',
      PGDATABASE: 'postgres',
      TZ: 'UTC',
    }
    const data = join(this.folder, 'data')
    this.#must(this.as(join(this.#bin, 'initdb'), '-D', data, '-U', 'svc', '-A', 'trust', '--no-sync'))
    const settings = {
      port,
      listen_addresses: '',
      unix_socket_directories: this.folder,
      fsync: 'off',
      archive_mode: 'on',
      archive_command: `${join(this.folder, 'archive-wal.sh')} %p %f ${this.wal}`,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
    appendFileSync(join(data, 'postgresql.conf'), lines.join(''))
    this.start('data')
    this.sql('create table told (what text)')
  }

  /** @param name of the data folder */
  start(name: string): void {
    this.#must(this.#control('start', name, '-w', '-l', join(this.folder, `${name}.log`)))
    this.#running = name
  }

  stop(): void {
    if (this.#running) this.#must(this.#control('stop', this.#running, '-w', '-m', 'fast'))
    this.#running = undefined
  }

  /** What the last start said until it failed. */
  failsToStart(name: string): string {
    const log = join(this.folder, `${name}.log`)
    const { status } = this.#control('start', name, '-w', '-l', log)
    if (status === 0) this.#running = name
    return status === 0 ? 'it started' : this.as('cat', log).stdout
  }

  /** @returns the first column, a line for each row */
  sql(query: string): string[] {
    const done = this.as(join(this.#bin, 'psql'), '-XAtqd', 'postgres', '-c', query)
    return this.#must(done).stdout.split('\n').filter(Boolean)
  }

  tell(what: string): void {
    this.sql(`insert into told values ('${what}')`)
  }

  /** @returns the moment, between what was told before and what is told after */
  async moment(): Promise<string> {
    const [now = ''] = this.sql('select clock_timestamp()')
    await sleep(20)
    return now
  }

  /** Resolves when all that was told is archived. */
  async archived(): Promise<void> {
    const [piece = ''] = this.sql('select pg_walfile_name(pg_switch_wal())')
    for (let i = 0; !existsSync(join(this.wal, piece)); i++) {
      if (i > 200) throw new Error(`${piece} is not archived`)
      await sleep(50)
    }
  }

  /** @returns the backup's folder, and whatever went wrong */
  backUp(env: NodeJS.ProcessEnv = {}): { made: string; said: string } {
    const { stdout, stderr } = this.#script({ WAL: this.wal, ...env }, 'base-backup.sh', this.base)
    return { made: stdout.trim(), said: stderr.trim() }
  }

  /** Lays a backup out as data folder `name`. */
  layOut(backup: string, name: string, time: string[] = [], env: NodeJS.ProcessEnv = {}) {
    const { status, stderr } = this.#script(
      env,
      'restore.sh',
      backup,
      this.wal,
      join(this.folder, name),
      ...time,
    )
    return { status, said: stderr.trim() }
  }

  /** Restores, starts, and waits until that has got there. @returns what is told in it */
  async restore(backup: string, name: string, time: string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.stop()
    const { status, said } = this.layOut(backup, name, time, env)
    if (status !== 0) throw new Error(said)
    this.start(name)
    for (let i = 0; this.sql('select pg_is_in_recovery()')[0] !== 'f'; i++) {
      if (i > 200) throw new Error('it is still in recovery')
      await sleep(50)
    }
    return this.sql('select what from told')
  }

  as(command: string, ...args: string[]): SpawnSyncReturns<string> {
    return spawnSync(command, args, { cwd: '/', env: this.#env, encoding: 'utf8', ...this.#account })
  }

  end(): void {
    this.stop()
    rmSync(this.folder, { recursive: true })
  }

  #script(env: NodeJS.ProcessEnv, name: string, ...args: string[]) {
    const { stdout, stderr, status } = spawnSync(join(this.folder, name), args, {
      cwd: '/',
      env: { ...this.#env, PG_BIN: this.#bin, ...env },
      encoding: 'utf8',
      ...this.#account,
    })
    return { stdout, stderr, status }
  }

  #control(what: string, name: string, ...more: string[]) {
    return spawnSync(join(this.#bin, 'pg_ctl'), [what, '-D', join(this.folder, name), ...more], {
      cwd: '/',
      env: this.#env,
      encoding: 'utf8',
      // A server that goes on would hold the pipe.
      stdio: ['ignore', 'ignore', 'ignore'],
      ...this.#account,
    })
  }

  #must<T extends { status: number | null; stderr: string | null }>(done: T): T {
    if (done.status !== 0) throw new Error(done.stderr ?? 'it failed')
    return done
  }

  #own(path: string): void {
    if (this.#account) chownSync(path, this.#account.uid, this.#account.gid)
  }
}
