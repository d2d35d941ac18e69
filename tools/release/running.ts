import type { DataFolder } from '../start/data-folder.ts'
import { Expected } from '../start/options.ts'

/** The database of the product: that of DATABASE_URL, or of the server that runs on a data folder. @throws Expected */
export function runningDatabase(folder: DataFolder): string {
  const url = process.env['DATABASE_URL'] || folder.database.read()?.url
  if (url && URL.canParse(url)) return url
  if (url) throw new Expected(`DATABASE_URL is not the address of a database: postgres://…`)
  throw new Expected(`No server is running on ${folder.path}: run \`npm start\` first, or set DATABASE_URL.`)
}
