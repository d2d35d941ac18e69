import { Temporal } from 'temporal-polyfill'

/** Longer than any zone's clocks were ever set at once: Samoa left out a whole day. */
const longestJumpMs = 25 * 3_600_000

const zoned = (instantMs: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(zone)

/** Whether the platform knows the zone (IANA name, such as `Europe/Berlin`). */
export function isZone(zone: string): boolean {
  try {
    // An offset is no zone: it knows nothing of summers.
    return !/^[+-]/.test(zone) && Boolean(zoned(0, zone))
  } catch {
    return false
  }
}

/** What clocks in the zone show at that instant, as if it were UTC. Milliseconds. */
export function wallTimeAt(instantMs: number, zone: string): number {
  return instantMs + zoned(instantMs, zone).offsetNanoseconds / 1e6
}

/**
 * The instants at which clocks in the zone show that time, earliest first: one, or two where they were set back. A time that they
 * skip happens when they show the next one that exists.
 *
 * @param wallMs as {@link wallTimeAt} gives it
 */
export function instantsOf(wallMs: number, zone: string): [number] | [number, number] {
  const wall = zoned(wallMs, 'UTC').toPlainDateTime()
  const earlier = wall.toZonedDateTime(zone, { disambiguation: 'earlier' })
  const later = wall.toZonedDateTime(zone, { disambiguation: 'later' })
  if (earlier.epochMilliseconds === later.epochMilliseconds) return [earlier.epochMilliseconds]
  const twice = earlier.toPlainDateTime().equals(wall)
  if (twice) return [earlier.epochMilliseconds, later.epochMilliseconds]
  const jump = earlier.getTimeZoneTransition('next')
  return [jump ? jump.epochMilliseconds : later.epochMilliseconds]
}

/** The latest time that clocks in the zone have shown up to that instant: more than they show where they were just set back. */
export function latestShown(instantMs: number, zone: string): number {
  const shown = wallTimeAt(instantMs, zone)
  if (shown - wallTimeAt(instantMs - longestJumpMs, zone) >= longestJumpMs) return shown
  const setBack = zoned(instantMs + 1, zone).getTimeZoneTransition('previous')
  return setBack ? Math.max(shown, wallTimeAt(setBack.epochMilliseconds - 1, zone)) : shown
}

/** When clocks in the zone are next set back, if that is so soon that they may show a time again which they have shown by that instant. */
export function nextSetBack(instantMs: number, zone: string): number | undefined {
  if (wallTimeAt(instantMs + longestJumpMs, zone) - wallTimeAt(instantMs, zone) >= longestJumpMs)
    return undefined
  return zoned(instantMs, zone).getTimeZoneTransition('next')?.epochMilliseconds
}
