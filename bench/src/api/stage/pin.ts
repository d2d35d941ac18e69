import { spawnSync } from 'node:child_process'
import { processesUnder } from './cpu.ts'

/** Where the server runs, and where what loads it does (the method's first rule). */
export const cores = { server: '0', client: '1', both: '0,1' } as const

/** Puts all threads of these processes, and of all below them, on a core; what they start later stays there too. */
export function pin(roots: readonly number[], core: string): void {
  for (const pid of roots.flatMap((root) => processesUnder(root))) {
    const { error, status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', core, String(pid)], {
      encoding: 'utf8',
    })
    if (error) throw new Error(`taskset cannot be run: ${error.message}`)
    // One that ended meanwhile needs no core.
    if (status !== 0 && processesUnder(pid).length > 0)
      throw new Error(`process ${pid} stays where it is: ${stderr.trim()}`)
  }
}
