import { openLoop } from '../../method/latency.ts'

export interface OpenLoad {
  perSecond: number
  seconds: number
  /** one request, until its answer; what it throws ends the load */
  ask: (number: number) => Promise<unknown>
}

/** Beyond it the server is not slow but away. */
const mostWaiting = 5_000

/**
 * Requests at times that were fixed before the first one: what the server is late with counts for every request behind it, too. Answers with
 * the milliseconds from the intended beginning of each to its end. @throws Error when one fails, or when too many wait
 */
export async function openLoad({ perSecond, seconds, ask }: OpenLoad): Promise<number[]> {
  const took: number[] = []
  const running = new Set<Promise<void>>()
  let failure: unknown
  const begin = (number: number, intendedAt: number) => {
    if (failure !== undefined) return
    if (running.size >= mostWaiting) {
      failure = new Error(`${mostWaiting} requests wait for an answer at ${perSecond} a second`)
      return
    }
    const one = ask(number)
      .then(
        () => void took.push(performance.now() - intendedAt),
        (error: unknown) => void (failure ??= error),
      )
      .finally(() => running.delete(one))
    running.add(one)
  }
  await openLoop({ perSecond, count: Math.max(1, Math.round(perSecond * seconds)), begin })
  await Promise.all(running)
  if (failure !== undefined) throw failure
  return took
}
