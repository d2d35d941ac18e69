import type { DataFolder } from '../start/data-folder.ts'
import { hasCluster, openDatabase } from '../start/database.ts'
import { takeLock } from '../start/lock.ts'
import { Expected } from '../start/options.ts'

/**
 * Works on the database of DATABASE_URL, of the server that runs on a data folder, or, where none does, on the one that the folder
 * holds, which is started for it. @throws Expected
 */
export async function withDatabaseOf<T>(folder: DataFolder, work: (url: string) => Promise<T>): Promise<T> {
  const given = process.env['DATABASE_URL']
  if (given && !URL.canParse(given))
    throw new Expected('DATABASE_URL is not the address of a database: postgres://…')
  if (given) return work(given)
  if (!hasCluster(folder))
    throw new Expected(
      `There is no database in ${folder.path}: run \`npm start\` first, or set DATABASE_URL.`,
    )
  const lock = await takeLock(folder.lock)
  if (!lock) {
    const url = folder.database.read()?.url
    if (!url) throw new Expected(`The server on ${folder.path} is starting: try again when it is up.`)
    return work(url)
  }
  try {
    const { url, running } = await openDatabase(folder, console.error)
    try {
      return await work(url)
    } finally {
      await running?.stop()
    }
  } finally {
    lock.release()
  }
}
