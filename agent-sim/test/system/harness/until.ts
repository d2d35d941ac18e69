import { setTimeout as sleep } from 'node:timers/promises'

/** Polls until it holds. Throws, saying for what it waited, when it does not within `withinMs`. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  withinMs = 45_000,
): Promise<void> {
  for (const patience = performance.now() + withinMs; !(await holds()); await sleep(50)) {
    if (performance.now() > patience) throw new Error(`waited ${withinMs / 1000} s in vain until ${what}`)
  }
}

/** Until a checker has nothing to complain about; then its last complaints are what is thrown. */
export async function untilClean(
  what: string,
  faults: () => Promise<string[]> | string[],
  withinMs = 45_000,
): Promise<void> {
  let last: string[] = []
  await until(
    what,
    async () => {
      last = await faults()
      return last.length === 0
    },
    withinMs,
  ).catch((error: Error) => {
    throw new Error([error.message, ...last.slice(0, 20)].join('\n  '))
  })
}
