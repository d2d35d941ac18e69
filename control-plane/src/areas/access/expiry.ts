import { ApiError } from '../../kernel/errors.ts'

const dayMs = 86_400_000
const longestDays = 365

/**
 * When a key ends. @param wanted RFC 3339
 *
 * @throws ApiError VALIDATION_ERROR for one that is past or more than 365 days away
 */
export function expiryOf(wanted: string | undefined, now: Date, defaultDays: number): Date {
  if (wanted === undefined) return new Date(now.getTime() + defaultDays * dayMs)
  const at = new Date(wanted)
  if (at > now && at.getTime() - now.getTime() <= longestDays * dayMs) return at
  throw new ApiError('VALIDATION_ERROR', 'the request is not valid', {
    details: [{ in: 'body', field: 'expiresAt', message: 'must be in the future and at most 365 days away' }],
  })
}
