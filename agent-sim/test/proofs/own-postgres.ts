import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestDatabase } from '../../../control-plane/test/harness/database.ts'
import { type Postgres, startPostgres } from '../../../tools/services.ts'

const name = 'svc_proof'

/** A PostgreSQL that a proof may kill and bring back at the same URL. It syncs to disk, as one in production does. */
export class OwnPostgres {
  readonly folder: string
  readonly #settings: Record<string, string>
  #server: Postgres

  private constructor(folder: string, settings: Record<string, string>, server: Postgres) {
    this.folder = folder
    this.#settings = settings
    this.#server = server
  }

  /** @param settings of the server, over its own */
  static async start(settings: Record<string, string> = {}): Promise<OwnPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'svc-proof-'))
    const server = await startPostgres({
      dataDir: join(folder, 'postgres'),
      settings,
      onNotice: () => undefined,
    })
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined })
    await sql.unsafe(`create database ${name}`)
    await sql.end()
    return new OwnPostgres(folder, settings, server)
  }

  /** Where the data really are. */
  get dataDir(): string {
    return this.#server.dataDir
  }

  get database(): TestDatabase {
    const url = new URL(this.#server.url)
    url.pathname = `/${name}`
    return { url: url.href, name, drop: () => this.close() }
  }

  /** One more database, with nothing in it. */
  async another(): Promise<TestDatabase> {
    const url = new URL(this.#server.url)
    const own = `svc_${randomBytes(4).toString('hex')}`
    await this.#do(`create database ${own}`)
    url.pathname = `/${own}`
    return { url: url.href, name: own, drop: () => this.#do(`drop database if exists ${own} with (force)`) }
  }

  async #do(statement: string): Promise<void> {
    const sql = postgres(this.#server.url, { max: 1, onnotice: () => undefined })
    try {
      await sql.unsafe(statement)
    } finally {
      await sql.end()
    }
  }

  /** Settings from now on; of those that need no restart. */
  async set(settings: Record<string, string>): Promise<void> {
    const sql = postgres(this.#server.url, { max: 1, onnotice: () => undefined })
    try {
      for (const [key, value] of Object.entries(settings))
        await sql.unsafe(`alter system set ${key} = '${value}'`)
      await sql`select pg_reload_conf()`
    } finally {
      await sql.end()
    }
  }

  /** The superuser's, to no database of the product. */
  get adminUrl(): string {
    return this.#server.url
  }

  kill(): Promise<void> {
    return this.#server.kill()
  }

  hang(): void {
    this.#server.hang()
  }

  goOn(): void {
    this.#server.goOn()
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }

  /** Brings it back, on whatever lies in its data folder by now. */
  async startAgain(): Promise<void> {
    const { dataDir, port } = this.#server
    const settings = this.#settings
    this.#server = await startPostgres({ dataDir, port, settings, onNotice: () => undefined })
  }

  /** Ends it and removes what it kept. */
  async close(): Promise<void> {
    await this.#server.stop()
    rmSync(this.#server.dataDir, { recursive: true, force: true })
    rmSync(this.folder, { recursive: true, force: true })
  }
}
