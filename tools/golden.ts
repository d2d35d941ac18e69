import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { migrate } from '../control-plane/src/db/migrate.ts'
import { routes } from '../control-plane/src/areas/index.ts'
import { goldens, schemaFile, schemaGolden } from '../control-plane/src/goldens.ts'
import { pendingOf } from './interface/documents.ts'
import { startPostgres } from './services.ts'

const root = resolve(import.meta.dirname, '..')

function write(path: string, text: string) {
  writeFileSync(join(root, path), text)
  console.log(path)
}

/** The schema of an empty database after all migrations. */
async function schema(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-golden-'))
  const postgres = await startPostgres({
    dataDir: join(folder, 'postgres'),
    persistent: false,
    onNotice: () => undefined,
  })
  try {
    await migrate(postgres.url)
    return await schemaGolden(postgres.url)
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

for (const [path, text] of Object.entries(goldens())) write(path, text)
write('docs/pending.txt', pendingOf(routes).join('\n').concat('\n'))
write(schemaFile, await schema())
