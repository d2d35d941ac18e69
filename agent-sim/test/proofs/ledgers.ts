import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ledgerLines } from '../system/harness/checker/ledgers.ts'

/** Who a simulated device is, as its own files say. */
export interface Identity {
  deviceId: string
  deviceToken: string
}

/** An effect: a device began to carry a command out. `at` in milliseconds since 1970. */
export interface Effect {
  commandId: string
  deviceId: string
  at: number
}

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []

/** Those that have been enrolled in this folder so far. A line that is being written is left out. */
export const identitiesIn = (folder: string): Identity[] =>
  linesOf(join(folder, 'identities.jsonl')).flatMap((line) => {
    try {
      return [JSON.parse(line) as Identity]
    } catch {
      return []
    }
  })

/** All effects that the devices of this folder have begun, over all their lives. */
export const effectsIn = (folder: string): Effect[] =>
  linesOf(join(folder, 'executions.jsonl')).map((line) => JSON.parse(line) as Effect)

/** The commands whose results the device knows to be with the server. */
export const acknowledgedBy = (folder: string, deviceId: string): Set<string> =>
  new Set(
    ledgerLines(join(folder, 'devices', deviceId)).flatMap(({ state, id }) =>
      state === 'acked' ? [id] : [],
    ),
  )
