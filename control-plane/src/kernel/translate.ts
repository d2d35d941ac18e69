import { BusDown, StreamFull } from '@svc/proto/bus'
import { PasswordsBusy } from '../adapters/passwords.ts'
import { ApiError, type ErrorCode } from './errors.ts'
import { PoolBusy } from './pool-turns.ts'
import { comeAgainSeconds } from './room.ts'

/** Postgres conditions (SQLSTATE) that are somebody's doing, or that pass. Any other is our fault. */
const sqlStates: Record<string, readonly [ErrorCode, string]> = {
  '23505': ['CONFLICT', 'another one with the same distinguishing value exists'],
  '23503': ['CONFLICT', 'something else refers to it, or what it refers to is gone'],
  '23514': ['VALIDATION_ERROR', 'a value is not allowed'],
  '22P02': ['VALIDATION_ERROR', 'a value has the wrong form'],
  '22001': ['VALIDATION_ERROR', 'a text is too long'],
  '22003': ['VALIDATION_ERROR', 'a number is too large'],
  '22021': ['VALIDATION_ERROR', 'a text holds characters that cannot be stored'],
  '22P05': ['VALIDATION_ERROR', 'a text holds characters that cannot be stored'],
  '57014': ['UNAVAILABLE', 'the request took longer than the database may work on one'],
  '55P03': ['UNAVAILABLE', 'another request is changing the same thing'],
  '40001': ['UNAVAILABLE', 'another request changed the same thing at the same time'],
  '40P01': ['UNAVAILABLE', 'another request changed the same thing at the same time'],
  '57P01': ['UNAVAILABLE', 'the database is not available'],
  '57P02': ['UNAVAILABLE', 'the database is not available'],
  '57P03': ['UNAVAILABLE', 'the database is not available'],
  '53300': ['UNAVAILABLE', 'the database has no connection left'],
  '25P03': ['UNAVAILABLE', 'the request took longer than a transaction may wait'],
}

/** Codes of postgres.js and of sockets: there was no answer. */
const unreachable = new Set([
  'DATABASE_AWAY',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
])

/** Of these Fastify quotes the path, in which may stand what its sender holds secret. */
const unquoted: Record<string, string> = {
  FST_ERR_BAD_URL: 'the path is no valid URL',
  FST_ERR_MAX_PARAM_LENGTH: 'a part of the path is too long',
}

/** Fastify's own refusals by status, and in our words; of any other it says enough itself, and names nothing of ours. */
const framework: Record<number, readonly [ErrorCode, string?]> = {
  404: ['NOT_FOUND'],
  405: ['METHOD_NOT_ALLOWED'],
  413: ['PAYLOAD_TOO_LARGE', 'the body is larger than 1 MiB'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'send application/json'],
  503: ['UNAVAILABLE', 'the server is stopping: try again'],
}

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

function frameworkError(error: unknown): ApiError | undefined {
  if (!codeOf(error).startsWith('FST_')) return undefined
  const { statusCode = 500, message } = error as Error & { statusCode?: number }
  if (statusCode >= 500 && statusCode !== 503) return undefined
  const [code, words] = framework[statusCode] ?? ['BAD_REQUEST']
  return new ApiError(code, words ?? unquoted[codeOf(error)] ?? message)
}

/** Whatever was thrown, as an answer of the catalogue. What went wrong underneath is its cause: for the log alone. */
export function translate(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const again = { retryAfter: 2, cause: error }
  if (error instanceof PasswordsBusy)
    return new ApiError('UNAVAILABLE', 'more passwords are being checked than the server can at once', {
      retryAfter: comeAgainSeconds(),
      cause: error,
      shed: true,
    })
  if (error instanceof PoolBusy)
    return new ApiError('UNAVAILABLE', 'the database is asked for more than it can do at once', {
      retryAfter: comeAgainSeconds(),
      cause: error,
      shed: true,
    })
  if (error instanceof BusDown) return new ApiError('UNAVAILABLE', 'the message bus is not available', again)
  if (error instanceof StreamFull)
    return new ApiError('UNAVAILABLE', 'more messages wait to be worked off than the server keeps', again)
  const code = codeOf(error)
  const known = sqlStates[code]
  if (known) return new ApiError(known[0], known[1], known[0] === 'UNAVAILABLE' ? again : { cause: error })
  if (unreachable.has(code)) return new ApiError('UNAVAILABLE', 'the database is not available', again)
  return frameworkError(error) ?? new ApiError('INTERNAL', 'a fault of the server', { cause: error })
}
