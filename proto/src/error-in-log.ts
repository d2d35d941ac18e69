import { isNativeError } from 'node:util/types'

/** What is said of an error in a log: of its own, and of what libraries add to it, only what cannot hold what somebody sent. */
export interface ErrorInLog {
  type: string
  message: string
  stack: string
  /** of those that an AggregateError, or one that caused this, brings together */
  errors?: ErrorInLog[]
  [field: string]: unknown
}

/**
 * Fields of Node, of Postgres and of servers that answered. Nothing else is taken: a refused Redis command brings its arguments along
 * (of AUTH, the password), a request that is no HTTP its bytes, a Postgres error the row that did not fit, a mail server its answer.
 */
const kept = [
  'code',
  'errno',
  'syscall',
  'address',
  'port',
  'status',
  'statusCode',
  'responseCode',
  'severity',
  'routine',
  'schema_name',
  'table_name',
  'column_name',
  'constraint_name',
]

const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'

/** A message may quote what somebody sent, of whatever size: so much is enough to know it again. */
const mostCharacters = 4_000
/** Of several errors at once. */
const mostErrors = 20

const isError = (value: unknown): value is Error => isNativeError(value) || value instanceof Error

const cut = (text: string): string =>
  text.length <= mostCharacters
    ? text
    : `${text.slice(0, mostCharacters)}… (${text.length - mostCharacters} characters more)`

/** The error and what caused it, outermost first. @param told of those already; none is told twice, so a circle ends */
function chainOf(error: Error, told: Set<Error>): Error[] {
  const chain: Error[] = []
  for (let at: unknown = error; isError(at) && !told.has(at); at = at.cause) {
    told.add(at)
    chain.push(at)
  }
  return chain
}

/** What was thrown and is no object stays as it is. */
export function errorInLog(error: unknown): unknown {
  if (isError(error)) return described(error, new Set())
  return typeof error === 'object' && error !== null ? strange(error) : error
}

function fieldsOf(thrown: object): [string, unknown][] {
  const all = thrown as Record<string, unknown>
  return kept.filter((name) => isPlain(all[name])).map((name) => [name, all[name]])
}

/** Thrown, and no error: nobody knows what else is in it. */
const strange = (thrown: object) => ({
  ...Object.fromEntries(fieldsOf(thrown)),
  type: typeOf(thrown),
  message: 'message' in thrown && typeof thrown.message === 'string' ? cut(thrown.message) : 'not an error',
})

const typeOf = (thrown: object): string =>
  (thrown.constructor as { name?: string } | undefined)?.name ?? 'Object'

function described(error: Error, told: Set<Error>): ErrorInLog {
  const chain = chainOf(error, told)
  // Of a failed connection it is the cause that knows of each address.
  const several = chain.flatMap((each) => (each instanceof AggregateError ? (each.errors as unknown[]) : []))
  const errors = several
    .filter((one) => isError(one) && !told.has(one))
    .slice(0, mostErrors)
    .map((one) => described(one as Error, told))
  return {
    // What the outermost says of itself goes before what its causes say.
    ...Object.fromEntries(chain.flatMap(fieldsOf).toReversed()),
    type: typeOf(error),
    message: chain.map(({ message }) => cut(message)).join(': '),
    stack: chain.map(stackOf).join('\ncaused by: '),
    ...(errors.length > 0 && { errors }),
  }
}

/** It begins with the message, which must not keep the frames out. */
const stackOf = ({ stack, message }: Error): string =>
  cut((stack ?? message).replace(message, () => cut(message).slice(0, mostCharacters / 2)))

/** Of each log of the product, for pino. */
export const logSerializers: { err: (error: unknown) => unknown } = { err: errorInLog }
