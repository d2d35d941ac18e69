import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readObject, writeWhole } from './whole-file.ts'

/**
 * How far an update of the agent is:
 * - `begun`: the old version runs and prepares
 * - `swapping`: the backup stands; the file may be the old one, none, or the new one
 * - `trial`: the new one is in place and has not reached the server yet
 * - `proven`: it has
 * - `reverting`: the backup is to come back
 * - `reverted`: it has, and the old version is to say so
 * - `failed`: the old version never stopped, and is to say why
 */
export const stages = ['begun', 'swapping', 'trial', 'proven', 'reverting', 'reverted', 'failed'] as const
export type Stage = (typeof stages)[number]

export interface Build {
  version: string
  /** hex */
  sha256: string
}

/** One update of the agent. Agents of every version and every launcher read it, so it only ever gains fields. */
export interface Journal {
  stage: Stage
  from: Build
  to: Build
  /** when that stage was reached, by the server's clock as far as the agent knew it */
  atMs: number
  /** of the new version, before it was proven */
  starts: number
  /** of the new version, since it was proven */
  crashes: number
  /** of `reverting`, `reverted`, `failed` */
  reason: string
}

const pathIn = (stateDir: string): string => join(stateDir, 'update.json')

/** Undefined when no update is under way, or what stands there makes no sense: then the file in place is what counts. */
export async function readJournal(stateDir: string): Promise<Journal | undefined> {
  const value = await readObject(pathIn(stateDir))
  const stage = stages.find((name) => name === value?.['stage'])
  const [from, to] = [buildOf(value?.['from']), buildOf(value?.['to'])]
  if (!value || !stage || !from || !to) return undefined
  const { atMs, starts, crashes, reason } = value
  const count = (number: unknown) => (typeof number === 'number' && number >= 0 ? number : 0)
  return {
    stage,
    from,
    to,
    atMs: count(atMs),
    starts: count(starts),
    crashes: count(crashes),
    reason: typeof reason === 'string' ? reason : '',
  }
}

/** Durable when it resolves. One process writes at a time: the agent while it runs, the launcher while it does not. */
export const writeJournal = (stateDir: string, journal: Journal): Promise<void> =>
  writeWhole(pathIn(stateDir), `${JSON.stringify(journal, null, 2)}\n`)

/** The update is told to its end. */
export const removeJournal = (stateDir: string): Promise<void> => rm(pathIn(stateDir), { force: true })

function buildOf(value: unknown): Build | undefined {
  const { version, sha256 } = (value ?? {}) as Record<string, unknown>
  return typeof version === 'string' && typeof sha256 === 'string' ? { version, sha256 } : undefined
}
