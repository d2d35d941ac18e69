import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { identify } from './abandoned.ts'

const ownerFile = 'svc.owner'

/** Records that this process started the server here; see `settleEarlier`. */
export function recordOwner(dataDir: string): void {
  writeFileSync(join(dataDir, ownerFile), identify(process.pid) ?? '', { mode: 0o600 })
}

/** The process whose number stands in the lock file, if it is the server of this folder and not a later stranger. */
function runningServer(dataDir: string): number | undefined {
  const lock = join(dataDir, 'postmaster.pid')
  const pid = existsSync(lock) ? Number.parseInt(readFileSync(lock, 'utf8'), 10) : 0
  return pid > 0 && commandLine(pid).includes(`-D ${dataDir} `) ? pid : undefined
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
  }
}

function ownerLives(dataDir: string): boolean {
  const owner = existsSync(join(dataDir, ownerFile)) ? readFileSync(join(dataDir, ownerFile), 'utf8') : ''
  const pid = Number.parseInt(owner, 10)
  return pid > 0 ? identify(pid) === owner : true
}

/**
 * Deals with what an earlier run left: a lock file whose process is gone (or is another one that got its number) is
 * removed; a server whose starter was killed is ended, as it should have been; a server in use is an error.
 */
export async function settleEarlier(dataDir: string): Promise<void> {
  const pid = runningServer(dataDir)
  if (pid !== undefined) {
    if (ownerLives(dataDir)) throw new Error(`${dataDir} is in use by another server (process ${pid})`)
    process.kill(pid, 'SIGINT')
    const patience = Date.now() + 15_000
    while (runningServer(dataDir) === pid) {
      if (Date.now() > patience)
        throw new Error(`an earlier server (process ${pid}) of ${dataDir} does not end`)
      await sleep(50)
    }
  }
  rmSync(join(dataDir, 'postmaster.pid'), { force: true })
}
