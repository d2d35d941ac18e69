/** The server's time. Injected so that tests can move it; nothing else about time is injected. A running server's is {@link DatabaseClock}. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
