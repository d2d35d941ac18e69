import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ResultFile } from './contract.ts'

/** Where a full run leaves its result: one file per bench and day. */
export const resultPath = ({ bench, startedAt }: ResultFile): string =>
  join(import.meta.dirname, '../../results', `${bench}-${startedAt.slice(0, 10)}.json`)

/** @param out another place than the usual one */
export function writeResult(result: ResultFile, out = resultPath(result)): string {
  mkdirSync(dirname(out), { recursive: true })
  writeFileSync(out, `${JSON.stringify(result, null, 2)}\n`)
  return out
}
