import { wrongField } from './errors.ts'

export const dayMs = 86_400_000
const longestMs = 365 * dayMs

/** How long a key lives that is given no end, and how long one may at most. */
export interface Lives {
  usualMs: number
  /** default: 365 days */
  mostMs?: number | undefined
}

/**
 * When a key ends. @param wanted RFC 3339
 *
 * @throws ApiError VALIDATION_ERROR for an end that is past or too far away
 */
export function expiryOf(
  wanted: string | undefined,
  now: Date,
  { usualMs, mostMs = longestMs }: Lives,
): Date {
  const most = Math.min(mostMs, longestMs)
  if (wanted === undefined) return new Date(now.getTime() + Math.min(usualMs, most))
  const at = new Date(wanted)
  if (at > now && at.getTime() - now.getTime() <= most) return at
  throw wrongField('expiresAt', `must be in the future and at most ${inWords(most)} away`)
}

const inWords = (ms: number) => (ms % dayMs === 0 ? `${ms / dayMs} days` : `${ms / 60_000} minutes`)
