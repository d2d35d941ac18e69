import { join } from 'node:path'

/** Of a program whose clock is to be wrong, or set: `harness/other-time.mjs`. */
export const otherTime = (aheadMs = 0): Record<string, string> => ({
  NODE_OPTIONS: `--import=${join(import.meta.dirname, '../../system/harness/other-time.mjs')}`,
  CLOCK_AHEAD_MS: String(aheadMs),
})

/** Sets its clock an hour ahead, at the next call an hour back, and then right again. */
export const setClock = 'SIGUSR2'
