import { readdir } from 'node:fs/promises'
import { textOf } from './proc.ts'

/** Environment variable that tells what a command has started, wherever it has moved to. */
export const marker = 'SVC_COMMAND_ID'

/** Killing takes no time, but what is being killed may have forked meanwhile. */
const rounds = 3

/**
 * Ends a command's process group and whatever left the group (setsid, daemon): children inherit the marker, and a process group is
 * given up more easily than an environment.
 */
export async function killTree(pid: number | undefined, commandId: string): Promise<void> {
  if (pid !== undefined) kill(-pid)
  for (let round = 0; round < rounds; round += 1) {
    const stragglers = await marked(commandId)
    if (stragglers.length === 0) return
    for (const straggler of stragglers) kill(straggler)
  }
}

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL')
  } catch (error) {
    // Ended already, or run as somebody whom this agent has no power over.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

async function marked(commandId: string): Promise<number[]> {
  const needle = `${marker}=${commandId}`
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => ((await textOf(`/proc/${pid}/environ`)) ?? '').split('\0').includes(needle)),
  )
  return pids.filter((pid, at) => found[at] && pid !== process.pid)
}
