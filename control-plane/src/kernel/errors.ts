/**
 * The one catalogue of error codes: status and meaning. `docs/errors.md` is made from it; an answer with any other code
 * cannot be spelt. Body: `{error: {code, message, details: [objects]}}` (interface §Errors).
 */
export const catalogue = {
  VALIDATION_ERROR: [400, 'The request is malformed: `details` names each field and what is wrong with it.'],
  BAD_REQUEST: [400, 'The request cannot be read at all (malformed JSON, bad framing).'],
  ROLE_IN_USE: [400, 'The role has assigned users or child roles; `details` counts them.'],
  SYSTEM_ROLE: [400, 'System roles are built in and cannot be changed or deleted.'],
  CIRCULAR_INHERITANCE: [400, 'The parent role would be one of the role’s own descendants.'],
  WEAK_PASSWORD: [400, 'The password is too easily guessed; `details` says why.'],
  LINK_INVALID: [400, 'The one-time link or token is unknown, used or expired.'],
  REVIEW_COMPLETED: [400, 'The access review is completed: its decisions stand; `details` counts them.'],
  REVIEW_ITEMS_PENDING: [
    400,
    'Somebody has to decide on items of the access review before it can be completed; `details` counts them.',
  ],
  SSO_PROVIDER_UNUSABLE: [
    400,
    'The identity provider cannot be activated: what it publishes of itself could not be read; `details` says why.',
  ],
  KEY_NOT_ACTIVE: [400, 'The key is revoked, or expired where that matters: make another one.'],
  UNAUTHENTICATED: [401, 'No valid credential came with the request.'],
  INVALID_CREDENTIALS: [401, 'E-mail or password is wrong, or the account cannot log in.'],
  MFA_CODE_INVALID: [401, 'The second factor’s code is wrong, used or expired.'],
  REFRESH_INVALID: [401, 'The refresh token is unknown, expired or revoked: log in again.'],
  REFRESH_RACED: [
    401,
    'The refresh token was rotated a moment ago by a parallel request: use the newer one.',
  ],
  ENROLLMENT_KEY_INVALID: [401, 'The enrollment key is unknown, expired, used up or revoked.'],
  FORBIDDEN: [403, 'The caller lacks the permission that this endpoint demands.'],
  SSO_REQUIRED: [
    403,
    'The organization demands single sign-on: passwords open nothing there; `details` says where to log in.',
  ],
  CONTEXT_REQUIRED: [403, 'The user belongs to no partner and no organization.'],
  FULL_ACCESS_REQUIRED: [
    403,
    'Users and roles are managed only with access to all organizations of the partner, or to all sites and groups of the organization; sites and groups only with the latter.',
  ],
  DELEGATION_CEILING: [
    403,
    'Nobody gives or takes away more than they hold: `details` names each permission that the caller lacks, or what else of an API key goes beyond.',
  ],
  MFA_REQUIRED: [403, 'The endpoint demands a second factor checked within the last ten minutes.'],
  MFA_MANDATORY: [403, 'The organization requires MFA: it cannot be disabled.'],
  IP_NOT_ALLOWED: [403, 'The API key may not be used from this address.'],
  SETTING_LOCKED: [
    403,
    'The partner has set what the organization wants to set; `details` names the fields.',
  ],
  ORGANIZATION_LIMIT_REACHED: [403, 'The partner has as many organizations as it is allowed.'],
  SMS_MFA_FORBIDDEN: [403, 'The organization does not allow SMS as a second factor.'],
  CSRF_INVALID: [403, 'A cookie was used without proof that the page asking is ours.'],
  NOT_FOUND: [404, 'No such thing, or none that the caller may see.'],
  METHOD_NOT_ALLOWED: [405, 'The path exists, but not with this method: see the `Allow` header.'],
  CONFLICT: [
    409,
    'The thing is not in a state that allows this; `details` holds `{from, to}` where states are meant.',
  ],
  ALREADY_PENDING: [409, 'The device already has such a command pending.'],
  ALREADY_EXISTS: [409, 'Another one with the same distinguishing value exists.'],
  LAST_ADMINISTRATOR: [409, 'The partner would be left without anybody who may do everything.'],
  DEVICE_OFFLINE: [409, 'An answer from the device is awaited, but it is offline.'],
  LIMIT_REACHED: [409, 'There are as many of them as there may be: `details` holds `{most}`.'],
  SITE_NOT_EMPTY: [409, 'The site still has devices, or enrollment keys that work; `details` counts them.'],
  DEVICE_LIMIT_REACHED: [403, 'The organization, or its partner, has as many devices as it is allowed.'],
  PAYLOAD_TOO_LARGE: [
    413,
    'The body is larger than 1 MiB, has more than 1,000 keys or 20,000 values, or is nested deeper than 32.',
  ],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Bodies are `application/json`.'],
  RANGE_NOT_SATISFIABLE: [416, 'The range asked for has none of the bytes there are.'],
  IDEMPOTENCY_MISMATCH: [
    422,
    'The Idempotency-Key was used before with a different request, or by the caller when they could see something else.',
  ],
  RELEASE_UNTRUSTED: [
    422,
    'The release cannot be taken on trust; `details` holds `{reason}`, and `{asset}` where one is the cause.',
  ],
  MFA_ENROLLMENT_REQUIRED: [428, 'The caller’s role demands a TOTP authenticator, and none is enrolled.'],
  RATE_LIMITED: [429, 'Too many requests: `retryAfter` (seconds) says when to try again.'],
  INTERNAL: [500, 'A fault of the server. The request id finds it in the log.'],
  DYNAMIC_GROUPS_UNAVAILABLE: [
    501,
    'This server has no groups whose members follow from a filter: make a static one.',
  ],
  SMS_NOT_CONFIGURED: [501, 'This server sends no text messages: SMS_DRIVER is not set.'],
  PROVIDER_ERROR: [502, 'A provider outside, such as the one of text messages, did not do its part.'],
  RELEASE_HOST_FAILED: [502, 'What holds the releases does not answer, or not as it should.'],
  UNAVAILABLE: [
    503,
    'The server cannot decide or store anything right now. Nothing was accepted; try again.',
  ],
  DEVICE_TIMEOUT: [504, 'The device did not answer in time.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>

export type ErrorCode = keyof typeof catalogue

export interface ErrorOptions {
  details?: readonly Record<string, unknown>[]
  /** seconds; only with RATE_LIMITED and UNAVAILABLE */
  retryAfter?: number
  /** what went wrong underneath: logged, never answered */
  cause?: unknown
  /** turned away by design, where there is no room: counted, no fault, and not worth a line of the log each time */
  shed?: true
}

/** A refusal with a code of the catalogue. The message is read by people; programs read `code`. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode
  readonly status: number
  readonly details: readonly Record<string, unknown>[]
  readonly retryAfter: number | undefined
  readonly shed: boolean

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = catalogue[code][0]
    this.details = options.details ?? []
    this.retryAfter = options.retryAfter
    this.shed = options.shed ?? false
  }

  /** The body of the answer. `retryAfter` stands beside `error` (interface §Errors). */
  body() {
    const error = { code: this.code, message: this.message, details: this.details }
    return this.retryAfter === undefined ? { error } : { error, retryAfter: this.retryAfter }
  }
}

/** The refusal of one field of a body that has the right form and is wrong all the same. */
export const wrongField = (field: string, message: string): ApiError =>
  new ApiError('VALIDATION_ERROR', 'the request is not valid', { details: [{ in: 'body', field, message }] })
