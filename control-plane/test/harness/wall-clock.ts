/** What clocks show in a zone, asked of Intl and walked minute by minute: what the product's reckoning of occurrences is held against. */

export const minute = 60_000
const step = 6 * 60 * minute
const lookback = 26 * 60 * minute

export type Shown = (ms: number) => number

/** What clocks in the zone show at an instant, as if it were UTC. Milliseconds, of whole minutes. */
export function shownBy(zone: string): Shown {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  return (ms) => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 0, day = 0, hour = 0, minute: minutes = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minutes)
  }
}

/** The minutes of a span, with what clocks show in each. It is looked at the ends of some hours, and within where clocks were set. */
function* minutesOf(shown: Shown, from: number, to: number): Generator<[at: number, wall: number]> {
  for (let start = from; start < to; start += step) {
    const wall = shown(start)
    const still = shown(start + step) - wall === step
    for (let at = start; at < Math.min(to, start + step); at += minute) {
      yield [at, still ? wall + at - start : shown(at)]
    }
  }
}

/** How the wall times that are asked for come true: each time that clocks show them, or once, when clocks have first come to them. */
export type Manner = 'each' | 'first'

/** When the wall times for which `wanted` holds come true in (after, to]; whole minutes. */
export function comeTrue(
  shown: Shown,
  manner: Manner,
  wanted: (wall: number) => boolean,
  after: number,
  to: number,
): number[] {
  const found: number[] = []
  let latest = Number.NaN
  for (const [at, wall] of minutesOf(shown, after - lookback, to + minute)) {
    let comes = manner === 'each' && wanted(wall)
    if (manner === 'first' && !Number.isNaN(latest))
      for (let passed = latest + minute; passed <= wall; passed += minute) comes ||= wanted(passed)
    latest = Number.isNaN(latest) ? wall : Math.max(latest, wall)
    if (comes && at > after) found.push(at)
  }
  return found
}
