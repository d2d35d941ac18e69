import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../system/harness/api.ts'
import { seconds, type Row, percentile } from '../verdict.ts'

/** What a caller was told, and how long that took. */
export interface Told {
  /** 0: nothing, within its patience */
  status: number
  /** `retryAfter` of the body; undefined where there is none */
  retryAfter: number | undefined
  ms: number
}

/** Longer than any answer may take. */
const patienceMs = 20_000

type Call = readonly [method: string, path: string, body?: unknown]

/** One call; never rejects. */
export async function call(api: Api, [method, path, body]: Call): Promise<Told> {
  const asked = performance.now()
  const late = new AbortController()
  const answered = api.ask<{ retryAfter?: number } | undefined>(method, path, body).then(
    ({ status, body: said }) => ({ status, retryAfter: said?.retryAfter }),
    () => ({ status: 0, retryAfter: undefined }),
  )
  const patience = sleep(patienceMs, { status: 0, retryAfter: undefined }, { signal: late.signal }).catch(
    () => ({ status: 0, retryAfter: undefined }),
  )
  const told = await Promise.race([answered, patience])
  late.abort()
  return { ...told, ms: performance.now() - asked }
}

/** Calls that keep coming, whatever is answered, from so many callers at once, each after a pause. */
export function keepCalling(api: Api, asked: Call, { callers = 1, pauseMs = 100 } = {}) {
  const told: Told[] = []
  let ends = false
  const one = async () => {
    for (; !ends; await sleep(pauseMs)) told.push(await call(api, asked))
  }
  const all = Promise.all(Array.from({ length: callers }, one))
  return {
    /** what was told so far */
    told,
    /** Resolves with all of it, once the last call is answered. */
    end: async () => {
      ends = true
      await all
      return told
    },
  }
}

/** Those that are neither right nor a refusal that says when to try again. */
export const unclear = (told: readonly Told[], right: readonly number[]): string[] =>
  told
    .filter(({ status, retryAfter }) => !right.includes(status) && !(status === 503 && retryAfter))
    .map(({ status, ms }) => `${status || 'no answer'} after ${seconds(ms)}`)

/** Of the slowest answers but one in a hundred. */
export function slowest(what: string, limitMs: number, told: readonly Told[]): Row {
  const p99 = percentile(
    told.map(({ ms }) => ms),
    0.99,
  )
  return {
    what,
    expected: `≤ ${seconds(limitMs)}`,
    seen: `${seconds(p99)} (of ${told.length})`,
    pass: told.length > 0 && p99 <= limitMs,
  }
}
