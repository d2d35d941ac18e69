import postgres from 'postgres'
import { routes } from './areas/index.ts'
import { dumpSchema } from './db/dump.ts'
import { openapi } from './kernel/openapi.ts'
import { errorsText, routesText } from './kernel/table.ts'

/** Of the document in git: the running server writes its own. */
const documentVersion = '0.0.0'

/** Files that are made and reviewed: path from the root of the project, and what it must hold. */
export const goldens = (): Record<string, string> => ({
  'docs/routes.txt': routesText(routes),
  'docs/errors.md': errorsText(),
  'docs/openapi.json': `${JSON.stringify(openapi(routes, documentVersion), null, 2)}\n`,
})

export const schemaFile = 'control-plane/src/db/schema.sql'

/** @param url of a migrated database */
export async function schemaGolden(url: string): Promise<string> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    return await dumpSchema(sql)
  } finally {
    await sql.end()
  }
}
