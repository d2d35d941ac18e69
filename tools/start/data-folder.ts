import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The first administrator, as only this folder knows him. */
export interface Admin {
  email: string
  password: string
  /** base32, RFC 4648 */
  totpSecret: string
}

/** What the demo tenant was made with; the database holds hashes of these. */
export interface Demo extends Admin {
  enrollmentKey: string
}

/** Where a running server can be reached. */
export interface Addresses {
  api: string
  gateway: string
  /** over TCP where that is offered, and over WebSocket */
  mqtt: string[]
}

/** Everything that `npm start` keeps, by name. Secrets have mode 0600. */
export class DataFolder {
  readonly path: string
  readonly lock: string
  readonly postgres: string
  readonly redis: string
  readonly keys: string
  /** ends of the audit log's chains: outside of the database */
  readonly audit: string
  readonly agents: string
  readonly host: string
  readonly logs: string
  /** the key that signs releases: no part of the running product reads it */
  readonly releaseKey: string
  readonly releases: string
  #made = false

  constructor(path: string) {
    this.path = resolve(path)
    this.lock = join(this.path, 'lock')
    this.postgres = join(this.path, 'postgres')
    this.redis = join(this.path, 'redis')
    this.keys = join(this.path, 'keys')
    this.audit = join(this.path, 'audit')
    this.agents = join(this.path, 'agents')
    this.host = join(this.path, 'host')
    this.logs = join(this.path, 'logs')
    this.releaseKey = join(this.path, 'release')
    this.releases = join(this.path, 'releases')
  }

  /** Makes the folder itself, with nothing in it. */
  make(): void {
    // The database may run as another user, who has to get through; what is secret has a mode of its own.
    if (mkdirSync(this.path, { recursive: true, mode: 0o711 })) this.#made = true
  }

  /** Makes what is missing. */
  open(): this {
    this.make()
    for (const folder of [this.keys, this.agents, this.host, this.logs])
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    return this
  }

  /** Removes folders that stayed empty, and the folder itself if it was not there before. */
  tidy(): void {
    const folders = [
      this.keys,
      this.audit,
      this.agents,
      this.host,
      this.logs,
      this.redis,
      this.releaseKey,
      this.releases,
      ...(this.#made ? [this.path] : []),
    ]
    for (const folder of folders)
      if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
  }

  /** Forgets everything but the lock and the built program. */
  clear(): void {
    for (const name of [
      'postgres',
      'redis',
      'keys',
      'audit',
      'agents',
      'host',
      'logs',
      'release',
      'releases',
      'demo.json',
      'tokens.json',
      'running.json',
      'database.json',
      'edge-shared-key',
    ])
      rmSync(join(this.path, name), { recursive: true, force: true })
  }

  /** The file of one log, emptied; the log of the start before is kept beside it. */
  freshLog(name: string): string {
    const file = join(this.logs, `${name}.log`)
    if (existsSync(file)) renameSync(file, `${file}.1`)
    writeFileSync(file, '', { mode: 0o600 })
    return file
  }

  /** The key that gateways show to the control plane's internal listener, made once. */
  edgeSharedKey(): string {
    const file = join(this.path, 'edge-shared-key')
    if (!existsSync(file)) writeSecret(file, randomBytes(32).toString('base64url'))
    return readFileSync(file, 'utf8')
  }

  readonly demo = this.#json<Demo>('demo.json')
  readonly running = this.#json<Addresses>('running.json')
  /** Of the running server, as whoever started it may use it. */
  readonly database = this.#json<{ url: string }>('database.json')
  readonly tokens = this.#json<{ accessToken: string; refreshToken: string }>('tokens.json')

  #json<T>(name: string) {
    const file = () => join(this.path, name)
    return {
      read: (): T | undefined =>
        existsSync(file()) ? (JSON.parse(readFileSync(file(), 'utf8')) as T) : undefined,
      write: (value: T) => writeSecret(file(), `${JSON.stringify(value, null, 2)}\n`),
      remove: () => rmSync(file(), { force: true }),
    }
  }
}

/** Readable by its owner alone from the first moment, whole or not there at all, and on the disk when this returns. */
export function writeSecret(file: string, content: string): void {
  const half = `${file}.${process.pid}`
  writeFileSync(half, content, { mode: 0o600 })
  chmodSync(half, 0o600)
  sync(half)
  renameSync(half, file)
  sync(dirname(file))
}

function sync(path: string): void {
  const opened = openSync(path, 'r')
  fsyncSync(opened)
  closeSync(opened)
}
