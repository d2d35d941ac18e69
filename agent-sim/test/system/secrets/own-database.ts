import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestDatabase } from '../../../../control-plane/test/harness/database.ts'
import { type Postgres, startPostgres } from '../../../../tools/services.ts'

/** A user of the database, and its password. */
type Logins = Record<'svc' | 'svc_app' | 'svc_worker', string>

/**
 * A PostgreSQL of the run's own, set up as docs/operations.md says, with a password for each user; its log has every statement with
 * its parameters, so that what was stored and removed again is seen too.
 */
export class OwnDatabase {
  readonly log: string[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-secrets-'))
  #server: Postgres | undefined

  /** Leaves nothing behind when it fails. */
  async start(logins: Logins): Promise<void> {
    await this.#setUp(logins).catch(async (error: unknown) => {
      await this.close()
      throw error
    })
  }

  async #setUp(logins: Logins): Promise<void> {
    this.#server = await startPostgres({
      dataDir: join(this.#folder, 'postgres'),
      persistent: false,
      onNotice: () => undefined,
      onLog: (line) => this.log.push(line),
    })
    const sql = postgres(this.#server.url, { max: 1, onnotice: () => undefined })
    const text = (value: string) => `'${value.replaceAll("'", "''")}'`
    await sql.unsafe(`create role svc login createrole password ${text(logins.svc)}`)
    await sql.unsafe(`create role svc_owner nologin; grant svc_owner to svc with admin option`)
    await sql.unsafe('grant set on parameter "app.scope" to svc with grant option')
    for (const role of ['svc_app', 'svc_worker'] as const) {
      await sql.unsafe(
        `create role ${role} login password ${text(logins[role])}; grant ${role} to svc with admin option`,
      )
    }
    await sql.unsafe('create database svc owner svc')
    // Only now: the statements above say the passwords.
    for (const [name, value] of [
      ['log_statement', 'all'],
      ['log_error_verbosity', 'verbose'],
      ['log_connections', 'on'],
    ])
      await sql.unsafe(`alter system set ${name} = '${value}'`)
    await sql`select pg_reload_conf()`
    await sql.end()
  }

  /** As a user sees it; without one, as the superuser does. */
  url(user?: keyof Logins, password = ''): string {
    const url = new URL(this.#server?.url ?? '')
    url.pathname = '/svc'
    if (user) {
      url.username = user
      url.password = encodeURIComponent(password)
    }
    return url.href
  }

  get database(): TestDatabase {
    return { url: this.url(), name: 'svc', drop: () => this.close() }
  }

  /** As a crash would. */
  async kill(): Promise<void> {
    await this.#server?.kill()
  }

  async close(): Promise<void> {
    await this.#server?.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
