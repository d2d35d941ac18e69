import type { Facts } from '../behaviours/behaviour.ts'
import { type Clock, pause, type Random } from '../clock.ts'
import { fullJitter } from '../connection/backoff.ts'
import { agentVersion } from '../version.ts'
import { type Identity, identityOf } from './identity.ts'

const answerWithinMs = 30_000

export interface EnrollOptions {
  /** Base URL of the API, without `/api/v1`. */
  api: string
  enrollmentKey: string
  facts: Facts
  /** Makes the device one that opens nothing without a proof of this key. */
  key?: { deviceKey: string; publicKey: string }
  clock: Clock
  random: Random
  /** Told of each attempt that will be repeated. */
  retrying?: (why: string, inMs: number) => void
  signal?: AbortSignal
}

/** Enrollment was refused for good: trying again changes nothing. */
export class EnrollmentRefused extends Error {
  override name = 'EnrollmentRefused'
  readonly code: string

  constructor(code: string, message: string) {
    super(`enrollment refused: ${code}: ${message}`)
    this.code = code
  }
}

type Attempt = { identity: Identity } | { again: string; retryAfterMs: number }

/**
 * Makes this machine a device (interface §Agents). Repeats while the API is away, busy (503) or limiting (429), never before its
 * `retryAfter`. Throws EnrollmentRefused, or the signal's reason.
 */
export async function enroll(options: EnrollOptions): Promise<Identity> {
  const { clock, random, signal, retrying } = options
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted()
    const outcome = await tryOnce(options)
    if ('identity' in outcome) return outcome.identity
    const inMs = outcome.retryAfterMs + fullJitter(random, attempt)
    retrying?.(outcome.again, inMs)
    await pause(clock, inMs, signal)
  }
}

async function tryOnce({ api, enrollmentKey, facts, key, signal }: EnrollOptions): Promise<Attempt> {
  const { bootId: _bootId, ...about } = facts
  const limit = AbortSignal.timeout(answerWithinMs)
  try {
    const response = await fetch(`${api.replace(/\/+$/, '')}/api/v1/agents/enroll`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        enrollmentKey,
        agentVersion,
        ...about,
        ...(key && { publicKey: key.publicKey }),
      }),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    const outcome = await understand(response)
    if ('identity' in outcome && key) outcome.identity.deviceKey = key.deviceKey
    return outcome
  } catch (error) {
    if (error instanceof EnrollmentRefused) throw error
    signal?.throwIfAborted()
    return { again: reasonOf(error), retryAfterMs: 0 }
  }
}

/** An answer that cannot be used has still enrolled a device: asking again would only make more of them. */
function usable(answer: unknown): Identity {
  try {
    return identityOf(answer)
  } catch (error) {
    throw new EnrollmentRefused('UNUSABLE_ANSWER', error instanceof Error ? error.message : String(error))
  }
}

interface Refusal {
  error?: { code?: string; message?: string }
  retryAfter?: number
}

async function understand(response: Response): Promise<Attempt> {
  if (response.ok) return { identity: usable(await response.json()) }
  const { error, retryAfter } = await response
    .json()
    .then((body) => (body ?? {}) as Refusal)
    .catch((): Refusal => ({}))
  const code = error?.code ?? `HTTP ${response.status}`
  if (response.status !== 429 && response.status < 500)
    throw new EnrollmentRefused(code, error?.message ?? response.statusText)
  const seconds = retryAfter ?? Number(response.headers.get('retry-after'))
  return { again: code, retryAfterMs: seconds > 0 ? seconds * 1000 : 0 }
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause)
}
