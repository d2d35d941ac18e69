const firstMs = 250
const longestMs = 30_000

/** A worker that served for so long was well: its next end is the first one again. */
export const healthyAfterMs = 60_000

/** How long to wait before a worker is replaced: it doubles with each end in a row, and no two workers come back in step. */
export const delayMs = (endsBefore: number, random = Math.random()): number =>
  Math.min(longestMs, firstMs * 2 ** endsBefore) * (0.5 + random / 2)
