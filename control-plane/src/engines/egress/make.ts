import { setMaxListeners } from 'node:events'
import { type Egress, EgressError, type EgressInit } from '../../adapters/egress.ts'
import { ask } from './ask.ts'
import { Circuits, type Verdict } from './circuits.ts'
import { late } from './failure.ts'
import { defaults, type EgressOptions, type Outcome } from './options.ts'
import { readRequest } from './request.ts'
import { namesFrom } from './resolve.ts'
import { readTarget } from './target.ts'
import { Turns } from './turns.ts'
import { within } from './within.ts'

const usualBytes = 1024 * 1024
const [usualMs, mostMs] = [10_000, 30_000]

/** What gives no answer says something of the endpoint; what was not asked says nothing. */
function verdictOf(error: unknown): Verdict {
  if (!(error instanceof EgressError)) return 'neither'
  if (error.code === 'REDIRECTED') return 'good'
  return ['UNREACHABLE', 'TIMED_OUT', 'TOO_LARGE'].includes(error.code) ? 'bad' : 'neither'
}

function outcomeOf(error: unknown, { signal }: EgressInit): Outcome {
  if (error instanceof EgressError) return error.code.toLowerCase() as Lowercase<EgressError['code']>
  return signal?.aborted === true ? 'aborted' : 'fault'
}

/** Opens nothing until it is asked; see {@link Egress}. @param given what differs from the defaults */
export function makeEgress(given: Partial<EgressOptions> = {}): Egress {
  const options: EgressOptions = { ...defaults, ...given }
  const names = namesFrom(options.resolvers)
  const turns = new Turns(options)
  const circuits = new Circuits(options)
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const running = new Set<Promise<unknown>>()

  async function asked(address: string | URL, init: EgressInit): Promise<Response> {
    const target = readTarget(address, options)
    const outgoing = readRequest(init)
    const key = init.key ?? target.host
    const timeoutMs = Math.min(init.timeoutMs ?? usualMs, mostMs)
    const mostBytes = init.maxBytes ?? usualBytes
    const denied = (what: Parameters<Parameters<typeof ask>[2]['denied']>[0]) =>
      options.onDenied({ key, ...what })
    return within(timeoutMs, late, [init.signal, closing.signal], (signal) =>
      turns.run(key, signal, () =>
        circuits.run(`${key} ${target.url.origin}`, verdictOf, () =>
          ask(target, outgoing, { options, names, denied, mostBytes, timeoutMs, signal }),
        ),
      ),
    )
  }

  async function fetch(address: string | URL, init: EgressInit = {}): Promise<Response> {
    const began = options.now()
    const observe = (outcome: Outcome) =>
      options.observe({ outcome, seconds: (options.now() - began) / 1_000 })
    const work = asked(address, init)
    running.add(work)
    try {
      const response = await work
      observe('answered')
      return response
    } catch (error) {
      observe(outcomeOf(error, init))
      throw error
    } finally {
      running.delete(work)
    }
  }

  return {
    fetch,
    close: async () => {
      closing.abort(new EgressError('BUSY', 'the server is stopping'))
      names.close()
      await Promise.allSettled(running)
    },
  }
}
