/** Each so many milliseconds after it was done; or by a cron expression, in UTC. */
export type Recurrence = { everyMs: number } | { cron: string }

/** Work of the server itself that recurs. `run` must bear being run twice: a lease that ran out is taken over. */
export type Job = { name: string; run: () => Promise<unknown> } & Recurrence
