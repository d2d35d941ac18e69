import { setTimeout as sleep } from 'node:timers/promises'
import { EgressError } from '../../adapters/egress.ts'
import { readAnswer, redirectOf, refuseRedirect } from './answer.ts'
import { check, type Denied } from './check.ts'
import { connectTo } from './connect.ts'
import { type Begun, begin } from './exchange.ts'
import { failureOf, unreachable } from './failure.ts'
import type { EgressOptions } from './options.ts'
import type { Outgoing } from './request.ts'
import type { Names } from './resolve.ts'
import { readTarget, type Target } from './target.ts'
import { within } from './within.ts'

/** What one call needs of its engine. */
export interface Asking {
  options: EgressOptions
  names: Names
  denied: (what: Omit<Denied, 'key'>) => void
  /** of the answer's body */
  mostBytes: number
  /** until all must be there, and what says stop */
  timeoutMs: number
  signal: AbortSignal
}

/** Looks the host up once, checks all that is found, connects to what was checked, and reads what it answers. @throws EgressError */
export async function ask(target: Target, outgoing: Outgoing, asking: Asking): Promise<Response> {
  const { options, names, denied, signal } = asking
  // With the first call: that is no time that an address took.
  const [found] = await Promise.all([names.addressesOf(target.host), import('./undici.ts')])
  const { addresses, inner } = check(target.host, found, options, denied)
  const tried = options.without.has('pinned') ? await names.addressesOf(target.host) : addresses
  const start = (until: AbortSignal) => startOn(target, tried, outgoing, asking, until)
  const hidden = inner && !options.without.has('alike')
  const begun = await (hidden ? alike(options.innerMs, signal, start) : start(signal))
  signal.addEventListener('abort', begun.end, { once: true })
  try {
    const next = options.without.has('redirects') ? redirectOf(begun.answer) : undefined
    if (next !== undefined) return await ask(readTarget(new URL(next, target.url), options), outgoing, asking)
    refuseRedirect(begun.answer.statusCode)
    return await readAnswer(outgoing.method, begun.answer, asking.mostBytes)
  } catch (error) {
    signal.throwIfAborted()
    throw failureOf(error)
  } finally {
    signal.removeEventListener('abort', begun.end)
    begun.end()
  }
}

async function startOn(
  target: Target,
  addresses: readonly string[],
  outgoing: Outgoing,
  { options, timeoutMs }: Asking,
  signal: AbortSignal,
): Promise<Begun> {
  const { connectMs, ca, idleMs } = options
  try {
    const socket = await connectTo(target, addresses, { connectMs, ca, signal })
    return await begin(target.url, socket, outgoing, { headersMs: timeoutMs, idleMs, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw failureOf(error)
  }
}

/**
 * Where an operator allowed part of the inside, whoever may name an address must not find out what else is there: closed, silent, no HTTP and
 * a certificate that is not good are one and the same failure, after the same time.
 */
async function alike(
  ms: number,
  signal: AbortSignal,
  start: (until: AbortSignal) => Promise<Begun>,
): Promise<Begun> {
  const over = sleep(ms, undefined, { signal }).catch(() => undefined)
  try {
    return await within(ms, unreachable, [signal], start)
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    await over
    signal.throwIfAborted()
    throw unreachable()
  }
}
