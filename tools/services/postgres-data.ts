import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { removeAbandoned } from './abandoned.ts'
import { type Account, reachable } from './account.ts'
import { ServiceFailure } from './child.ts'
import { systemFolder } from './postgres-files.ts'

const passwordFile = 'svc.password'

/** Where the data really goes: the wanted place, or one that the unprivileged user can reach. */
export function placeData(wanted: string, account: Account | undefined): string {
  const path = resolve(wanted)
  if (!account || reachable(path, account)) return path
  return join(
    systemFolder,
    `${basename(path)}-${createHash('sha256').update(path).digest('hex').slice(0, 12)}`,
  )
}

/**
 * Makes the cluster if there is none. It is made beside its place and moved there when complete, so an interrupted
 * attempt leaves nothing that looks like one.
 */
export function ensureCluster(
  bin: string,
  dataDir: string,
  account: Account | undefined,
  sync: boolean,
): void {
  if (existsSync(join(dataDir, 'PG_VERSION'))) return
  if (existsSync(dataDir) && readdirSync(dataDir).length > 0)
    throw new Error(`${dataDir} is neither empty nor a Postgres data folder`)
  mkdirSync(dirname(dataDir), { recursive: true })
  removeAbandoned(`${dataDir}.new-`)
  const half = `${dataDir}.new-${process.pid}`
  const secret = `${dataDir}.password-${process.pid}`
  const password = randomBytes(24).toString('base64url')
  try {
    mkdirSync(half, { mode: 0o700 })
    writeFileSync(secret, password, { mode: 0o600 })
    if (account) for (const path of [half, secret]) chownSync(path, account.uid, account.gid)
    initialise(bin, half, secret, account, sync)
    renameSync(secret, join(half, passwordFile))
    renameSync(half, dataDir)
  } finally {
    for (const path of [half, secret]) rmSync(path, { recursive: true, force: true })
  }
}

function initialise(bin: string, half: string, secret: string, account: Account | undefined, sync: boolean) {
  // The built-in provider sorts and folds case alike on every system, whatever locales are installed there.
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--encoding=UTF8']
  const args = [
    `--pgdata=${half}`,
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${secret}`,
    ...locale,
  ]
  const { status, error, stdout, stderr } = spawnSync(
    join(bin, 'initdb'),
    sync ? args : [...args, '--no-sync'],
    {
      cwd: '/',
      env: postgresEnv,
      encoding: 'utf8',
      ...account,
    },
  )
  if (error || status !== 0)
    throw new ServiceFailure(
      `initdb failed: ${error?.message ?? `code ${status}`}\n${stdout}${stderr}`.trim(),
    )
}

/** Nothing of our own environment, which holds secrets, and no locale or time zone of the machine. */
export const postgresEnv = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }

/** The superuser's password of this cluster. */
export const readPassword = (dataDir: string) => readFileSync(join(dataDir, passwordFile), 'utf8')
