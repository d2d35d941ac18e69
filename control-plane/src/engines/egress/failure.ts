import { EgressError } from '../../adapters/egress.ts'

const timedOut = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const tooLarge = new Set(['UND_ERR_HEADERS_OVERFLOW', 'ERR_BUFFER_TOO_LARGE'])

/** What a call of ours was wrong by, in Node's words and the library's: nothing that a network or a peer could do. */
const fault =
  /^(ERR_(INVALID|MISSING|UNKNOWN|OUT_OF|MODULE|METHOD|UNSUPPORTED)|UND_ERR_(INVALID|NOT_SUPPORTED)|ABORT_ERR)/

export const late = (): EgressError => new EgressError('TIMED_OUT', 'the answer was not there in time')
export const tooLargeAnswer = (): EgressError =>
  new EgressError('TOO_LARGE', 'the answer is larger than it may be')

/** Says nothing about which of them it was: whoever may not see an inner network must not scan it either. */
export const unreachable = (why = ''): EgressError =>
  new EgressError(
    'UNREACHABLE',
    `the address cannot be reached, or gives no answer of HTTP${why && ` (${why})`}`,
  )

/** What a network, a certificate or a peer did wrong, as its code alone: messages of the library name addresses. Faults of ours stay what they are. */
export function failureOf(error: unknown): unknown {
  if (error instanceof EgressError || !(error instanceof Error)) return error
  // The one error of the library that has no code for some of what a peer says.
  const { code = error.name === 'HTTPParserError' ? 'HPE' : undefined } = error as { code?: unknown }
  if (typeof code !== 'string' || fault.test(code)) return error
  if (timedOut.has(code)) return late()
  if (tooLarge.has(code)) return tooLargeAnswer()
  return unreachable(code)
}
