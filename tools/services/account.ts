import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The user a child runs as, as `spawn` wants it. */
export interface Account {
  uid: number
  gid: number
}

/**
 * Postgres refuses to run as root. Whoever owns the data already goes on with it; otherwise the system's `postgres`
 * user where there is one, else `nobody`: no user is made for a development database. Undefined when not root.
 */
export function unprivileged(dataDir: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  if (existsSync(dataDir)) {
    const { uid, gid } = statSync(dataDir)
    if (uid !== 0) return { uid, gid }
  }
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('running as root, and there is no user `postgres` or `nobody` for Postgres to run as')
}

/** Whether that user can get to the path: every folder above it (of its existing part) must let them through. */
export function reachable(path: string, { uid, gid }: Account): boolean {
  let folder = path
  while (!existsSync(folder)) folder = dirname(folder)
  for (folder = realpathSync(folder); ; folder = dirname(folder)) {
    const stat = statSync(folder)
    const search = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001
    // The data folder itself is handed over to the user when it is made.
    if (folder !== path && stat.isDirectory() && !(stat.mode & search)) return false
    if (folder === dirname(folder)) return true
  }
}
