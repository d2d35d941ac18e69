import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'

/** Who runs where: the measured server alone on the one, the load and all that serves it on the other. */
export const cores = { server: 0, client: 1 } as const

/** Why nothing can be pinned here; undefined: it can. */
export function unpinnable(): string | undefined {
  if (cpus().length < 2) return 'there is one core: server and client share it'
  if (spawnSync('taskset', ['--version']).error) return 'there is no taskset: nothing is pinned'
  return undefined
}

/** Binds a process with all its threads to a core; later threads and children follow. Does nothing where {@link unpinnable}. */
export function pin(pid: number, core: number): void {
  if (unpinnable()) return
  const { status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`taskset: ${stderr.trim()}`)
}
