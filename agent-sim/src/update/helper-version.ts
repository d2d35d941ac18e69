import { join } from 'node:path'
import { readText } from '../launcher/whole-file.ts'

/** `<stateDir>/HELPER_VERSION`: written by whoever installs the helper, and by the agent when it replaces it. */
export const helperVersionFile = (stateDir: string): string => join(stateDir, 'HELPER_VERSION')

/** `''`: no helper is installed here. */
export const readHelperVersion = async (stateDir: string): Promise<string> =>
  ((await readText(helperVersionFile(stateDir))) ?? '').trim().slice(0, 60)
