import { z } from 'zod'

/** What Postgres and four digits can say; RFC 3339 has a year 0, and an offset leads beyond the last one. */
const isKept = (text: string): boolean => {
  const year = new Date(text).getUTCFullYear()
  return Number.isNaN(year) || (year >= 1 && year <= 9999)
}
const of = 'must be of the years 1 to 9999 in UTC'

/** A moment as requests name it: RFC 3339, with any offset. */
export const Moment = z.iso.datetime({ offset: true }).refine(isKept, of)

/** A day as requests name it: `YYYY-MM-DD`. */
export const Day = z.iso.date().refine(isKept, of)
