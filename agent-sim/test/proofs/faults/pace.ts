import { type Pace, paceOf } from '../pace.ts'

/** Seconds as in an outage of a minute, or for a short run as few as the product's own timers allow. */
export const faultPace = (seconds: number): Pace =>
  seconds >= 60
    ? paceOf(seconds)
    : {
        heartbeatMs: 2_000,
        exchangeMs: 2_000,
        commandLeaseMs: 3_000,
        goneAfterMs: 8_000,
        silentAfterMs: 12_000,
      }
