import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ResultFile } from '../method/contract.ts'
import type { Named } from './choose.ts'

/** All results of a folder, which may not be there yet. @throws Error that names a file which is none */
export function readResults(folder: string): Named[] {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return files.toSorted().map((file) => {
    const result = JSON.parse(readFileSync(join(folder, file), 'utf8')) as ResultFile
    if (result.format !== 1) throw new Error(`${file} is of format ${String(result.format)}, not 1`)
    return { file, result }
  })
}
