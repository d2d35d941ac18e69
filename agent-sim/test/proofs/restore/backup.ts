import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { OwnPostgres } from '../own-postgres.ts'

/** What is shipped to keep the write-ahead log with. */
const archiver = join(import.meta.dirname, '../../../../infra/backup/archive-wal.sh')
/** Of no use to a copy, or in its way (PostgreSQL documentation §26.3.4.2). */
const leftOut = ['postmaster.pid', 'postmaster.opts', 'svc.owner']
const archivedWithinMs = 30_000

/** A copy of a running database, and every piece of its log since. PostgreSQL must have been started with `archive_mode` on. */
export class Backup {
  readonly #postgres: OwnPostgres
  readonly #wal: string
  readonly #copy: string
  readonly #script: string

  private constructor(on: OwnPostgres) {
    this.#postgres = on
    this.#wal = `${on.dataDir}-wal`
    this.#copy = `${on.dataDir}-copy`
    this.#script = `${on.dataDir}-archive-wal.sh`
  }

  /** Begins to keep the log, and copies the database as it runs. */
  static async take(on: OwnPostgres): Promise<Backup> {
    const backup = new Backup(on)
    const { uid, gid } = statSync(on.dataDir)
    mkdirSync(backup.#wal, { mode: 0o700 })
    chownSync(backup.#wal, uid, gid)
    // To where the server's user can read it.
    copyFileSync(archiver, backup.#script)
    chmodSync(backup.#script, 0o755)
    await on.set({ archive_command: `sh ${backup.#script} %p %f ${backup.#wal}` })
    await backup.#copyData()
    return backup
  }

  /** Resolves when all that was written so far is kept. */
  async flush(): Promise<void> {
    const sql = postgres(this.#postgres.adminUrl, { max: 1, onnotice: () => undefined })
    try {
      const [row] = await sql<{ name: string }[]>`select pg_walfile_name(pg_switch_wal()) as name`
      const patience = Date.now() + archivedWithinMs
      while (!readdirSync(this.#wal).includes(row?.name ?? '')) {
        if (Date.now() > patience) throw new Error(`${row?.name} is not archived`)
        await sleep(50)
      }
    } finally {
      await sql.end()
    }
  }

  /** Puts the copy in the place of the data, which are gone, to be brought to that moment. The server must have ended. */
  layOut(moment: Date): void {
    const { dataDir } = this.#postgres
    const { uid, gid } = statSync(dataDir)
    rmSync(dataDir, { recursive: true, force: true })
    run('cp', '-a', this.#copy, dataDir)
    appendFileSync(
      join(dataDir, 'postgresql.auto.conf'),
      [
        `restore_command = 'cp "${this.#wal}/%f" "%p"'`,
        `recovery_target_timeline = 'latest'`,
        `recovery_target_action = 'promote'`,
        `recovery_target_time = '${moment.toISOString().replace('T', ' ').replace('Z', '+00')}'`,
        '',
      ].join('\n'),
    )
    writeFileSync(join(dataDir, 'recovery.signal'), '')
    chownSync(join(dataDir, 'recovery.signal'), uid, gid)
  }

  close(): void {
    for (const path of [this.#wal, this.#copy, this.#script]) rmSync(path, { recursive: true, force: true })
  }

  /** `pg_basebackup` is not among the embedded binaries: by the functions it is made of. */
  async #copyData(): Promise<void> {
    const sql = postgres(this.#postgres.adminUrl, { max: 1, onnotice: () => undefined })
    try {
      await sql`select pg_backup_start('proof', true)`
      // What is removed while it is being copied is no harm.
      spawnSync('cp', ['-a', this.#postgres.dataDir, this.#copy])
      const [stop] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(true)`
      for (const name of leftOut) rmSync(join(this.#copy, name), { force: true })
      for (const folder of [
        'pg_wal',
        'pg_replslot',
        'pg_dynshmem',
        'pg_notify',
        'pg_serial',
        'pg_snapshots',
        'pg_stat_tmp',
        'pg_subtrans',
      ])
        for (const name of readdirSync(join(this.#copy, folder)))
          rmSync(join(this.#copy, folder, name), { recursive: true, force: true })
      const label = join(this.#copy, 'backup_label')
      writeFileSync(label, stop?.labelfile ?? '')
      const { uid, gid } = statSync(this.#copy)
      chownSync(label, uid, gid)
    } finally {
      await sql.end()
    }
  }
}

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
}
