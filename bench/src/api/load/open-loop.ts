import { setTimeout as sleep } from 'node:timers/promises'

export interface OpenLoop {
  perSecond: number
  seconds: number
  /** one request, from its sending to its answer; what it throws ends the load */
  ask: (number: number) => Promise<unknown>
  /** most that may be under way: beyond it the server is not slow but away */
  most?: number
}

/**
 * Requests at times that were fixed before the first one: what the server is late with counts for every request behind it, too. Milliseconds
 * from the intended beginning of each to its answer. @throws Error when one fails, or when more than `most` wait
 */
export async function openLoop({ perSecond, seconds, ask, most = 5_000 }: OpenLoop): Promise<number[]> {
  const took: number[] = []
  const running = new Set<Promise<void>>()
  let failure: unknown
  const total = Math.max(1, Math.round(perSecond * seconds))
  const began = performance.now()
  for (let number = 0; number < total && failure === undefined; number++) {
    const intended = began + (number * 1_000) / perSecond
    const early = intended - performance.now()
    // A timer is up to a millisecond late, which is within what is measured: the intended time counts.
    if (early > 1) await sleep(early)
    if (running.size >= most) throw new Error(`${most} requests wait for an answer at ${perSecond} a second`)
    const one = ask(number)
      .then(
        () => void took.push(performance.now() - intended),
        (error: unknown) => void (failure ??= error),
      )
      .finally(() => running.delete(one))
    running.add(one)
  }
  await Promise.all(running)
  if (failure !== undefined) throw failure
  return took
}
