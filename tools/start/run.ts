import { readdirSync } from 'node:fs'
import { bringUp } from './bring-up.ts'
import { DataFolder } from './data-folder.ts'
import { removeCluster, requireDatabase } from './database.ts'
import { interrupted } from './interrupt.ts'
import { type Lock, lockOwner, takeLock } from './lock.ts'
import { Expected, type Progress, type StartOptions } from './options.ts'
import { portsOf, requireFree } from './ports.ts'
import { Stack } from './stack.ts'
import { describeAdmin } from './table.ts'

const killed = 130
/** After a start that was killed, its parts need a moment to notice and give up their ports. */
const crashPatienceMs = 15_000

/** Starts the product, says so, and runs until it is told to end. Resolves with the exit code. */
export async function run(options: StartOptions, progress: Progress): Promise<number> {
  const folder = new DataFolder(options.data)
  if (options.showAdmin && lockOwner(folder.lock)) return showAdmin(folder)
  const lock = await lockFolder(folder)
  try {
    // Before anything is made or forgotten.
    await requireFree(portsOf(options), lock.stale ? crashPatienceMs : 0)
    await requireDatabase()
    if (options.reset) {
      removeCluster(folder)
      folder.clear()
    }
    checkWhole(folder.open())
    return await runLocked(options, folder, lock, progress)
  } finally {
    lock.release()
    folder.tidy()
  }
}

function showAdmin(folder: DataFolder): number {
  const admin = folder.demo.read()
  if (!admin)
    throw new Expected(`The server on ${folder.path} has no administrator yet: it is still starting.`)
  console.log(describeAdmin(admin).join('\n'))
  return 0
}

async function lockFolder(folder: DataFolder): Promise<Lock> {
  folder.make()
  const lock = await takeLock(folder.lock)
  if (lock) return lock
  throw new Expected(
    `A server is running on ${folder.path} already (process ${lockOwner(folder.lock)}): end it, or use --data for another.`,
  )
}

/** Keys and database belong together: one without the other cannot be used. */
function checkWhole(folder: DataFolder): void {
  if (!folder.demo.read() || readdirSync(folder.keys).length > 0) return
  throw new Expected(
    `The keys in ${folder.keys} are gone, and without them the database cannot be used: restore them, or begin anew with --reset.`,
  )
}

async function runLocked(
  options: StartOptions,
  folder: DataFolder,
  lock: Lock,
  progress: Progress,
): Promise<number> {
  const stack = new Stack()
  const told = interrupted(() => {
    stack.killAll()
    lock.release()
    process.exit(killed)
  })
  const up = bringUp(options, folder, stack, progress)
  const failed = up.then(
    () => new Promise<never>(() => undefined),
    (error: unknown) => ({ error }),
  )
  const end = await Promise.race([told, stack.crashed.then((crash) => ({ crash })), failed])

  if (typeof end === 'string') progress.say('ending: agents, gateway, control plane, bus, database')
  folder.running.remove()
  folder.database.remove()
  const failures = await stack.close()
  await up.catch(() => undefined)
  for (const failure of failures) console.error((failure as Error).message)
  if (typeof end === 'string') {
    progress.say('ended')
    return failures.length > 0 ? 1 : 0
  }
  if ('error' in end) throw end.error
  console.error(`Everything was ended because ${end.crash}`)
  return 1
}
