import { ApiError } from './errors.ts'
import { type LimitName, type Limits, limits, type Subject } from './limits.ts'
import type { Route } from './route.ts'

/** A point that was taken for a request before it was known how it ends. */
export interface Taken {
  name: LimitName
  subject: Subject
}

/** Known before the body is read. */
const early = new Set<keyof Subject>(['ip', 'user'])

const isEarly = (name: LimitName) => limits[name].per.every((part) => early.has(part))

/** A limit by something that this request does not have (a `tempToken`, a login) does not concern it. */
const concerns = (name: LimitName, subject: Subject) =>
  limits[name].per.every((part) => subject[part] !== undefined)

/**
 * Takes a point of each of the route's limits that can be told at this stage, and notes those that a success gives back.
 *
 * @throws ApiError RATE_LIMITED; then no point is taken of the limits that count failures
 */
export async function take(
  counters: Limits,
  route: Route,
  stage: 'early' | 'late',
  subject: Subject,
  taken: Taken[],
): Promise<void> {
  const names = typeof route.limit === 'string' ? [route.limit] : (route.limit ?? [])
  for (const name of names) {
    if (isEarly(name) !== (stage === 'early') || !concerns(name, subject)) continue
    const { counts } = limits[name]
    if (counts === 'failures') taken.push({ name, subject })
    await counters.hit(name, subject)
  }
}

/** A guess is what a wrong password or code answers; anything else gives its points back. */
export async function settle(counters: Limits, taken: readonly Taken[], status: number): Promise<void> {
  if (status === 401 || status === 403) return
  for (const { name, subject } of taken) await counters.refund(name, subject)
}

/**
 * A guess that is known as one only when the request is looked into: counted as by {@link take} and {@link settle}.
 *
 * @throws ApiError RATE_LIMITED, and whatever `work` throws
 */
export async function countingGuess<T>(
  counters: Limits,
  name: LimitName,
  subject: Subject,
  work: () => Promise<T>,
): Promise<T> {
  let status = 200
  try {
    await counters.hit(name, subject)
    return await work()
  } catch (error) {
    status = error instanceof ApiError ? error.status : 500
    throw error
  } finally {
    await settle(counters, [{ name, subject }], status)
  }
}
