import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { interfaceRows } from './rows.ts'

const path = (name: string) => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url))
const lines = (name: string) =>
  readFileSync(path(name), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

/** `METHOD /path` of each endpoint that the interface document has. */
export const readInterface = (): string[] => interfaceRows(readFileSync(path('interface.md'), 'utf8'))

/** Interface rows that are not served yet. */
export const readPending = (): string[] => lines('pending.txt')

/** Endpoints beyond the interface, each with the reason why users need it. */
export const readExtensions = (): { row: string; reason: string }[] =>
  lines('extensions.tsv').map((line) => {
    const [method, path, reason = ''] = line.split('\t')
    return { row: `${method} ${path}`, reason }
  })

/** Endpoints of the interface that are not below `/api/v1`, and so in no table of routes. */
const outsideTheTable = ['GET /health']

/** The interface rows that a table of routes lacks, sorted: what `docs/pending.txt` must say. */
export function pendingOf(routes: readonly { method: string; path: string }[]): string[] {
  const served = [...routes.map(({ method, path }) => `${method} ${path}`), ...outsideTheTable]
  return readInterface()
    .filter((row) => !served.includes(row))
    .toSorted()
}
