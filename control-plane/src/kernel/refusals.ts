import { isOpen } from './access.ts'
import { catalogue, type ErrorCode } from './errors.ts'
import type { Route } from './route.ts'

type Json = Record<string, unknown>

/** The refusals that a declaration knows of, by status; the codes are the kernel's own. */
const shared: Record<string, { name: string; codes: readonly ErrorCode[] }> = {
  400: { name: 'Malformed', codes: ['VALIDATION_ERROR', 'BAD_REQUEST'] },
  401: { name: 'Unauthenticated', codes: ['UNAUTHENTICATED'] },
  403: { name: 'Forbidden', codes: ['FORBIDDEN', 'MFA_REQUIRED'] },
  404: { name: 'NotFound', codes: ['NOT_FOUND'] },
  413: { name: 'TooLarge', codes: ['PAYLOAD_TOO_LARGE'] },
  415: { name: 'NotJson', codes: ['UNSUPPORTED_MEDIA_TYPE'] },
  422: { name: 'OtherRequest', codes: ['IDEMPOTENCY_MISMATCH'] },
  428: { name: 'SecondFactorNeeded', codes: ['MFA_ENROLLMENT_REQUIRED'] },
  429: { name: 'TooMany', codes: ['RATE_LIMITED'] },
}

const needsPermission = ({ can, freshMfa }: Route) =>
  Boolean(freshMfa) || (!isOpen(can) && can !== 'signed-in' && can !== 'portal')

/** What each route may be refused with; an area's own refusals are under `default`. */
const applies: Record<string, (route: Route) => boolean> = {
  400: () => true,
  401: ({ can }) => !isOpen(can) || can === 'enrollment',
  403: needsPermission,
  404: ({ path }) => path.includes(':'),
  413: ({ body }) => body !== undefined,
  415: ({ body }) => body !== undefined,
  422: ({ idempotent }) => Boolean(idempotent),
  428: ({ can, mfaExempt }) => !isOpen(can) && !mfaExempt,
  429: ({ can, limit }) => !isOpen(can) || limit !== undefined, // each API key has one
}

/** The refusals of one operation, as references into {@link sharedRefusals}. */
export const refusalsOf = (route: Route): Json =>
  Object.fromEntries(
    Object.entries(shared)
      .filter(([status]) => applies[status]?.(route))
      .map(([status, { name }]) => [status, { $ref: `#/components/responses/${name}` }]),
  )

const wordsOf = (code: ErrorCode) => `\`${code}\`: ${catalogue[code][1]}`

/** For `components.responses`. @param content what every refusal looks like */
export const sharedRefusals = (content: Json): Json =>
  Object.fromEntries(
    Object.values(shared).map(({ name, codes }) => [
      name,
      { description: codes.map(wordsOf).join(' '), content },
    ]),
  )
