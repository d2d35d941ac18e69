import { z } from 'zod'

/** A name that the time zone database knows, such as `Europe/Paris`. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone such as Europe/Paris')

function isTimeZone(name: string): boolean {
  // Offsets such as `+02:00` are accepted by Intl, but are no zones: they know no daylight saving.
  if (/^[+-]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
