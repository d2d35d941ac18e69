import type { z } from 'zod'
import { ApiError } from './errors.ts'
import { issueText, unknownKey } from './issue-text.ts'
import type { Route } from './route.ts'

type Place = 'path' | 'query' | 'body'

/** One thing wrong with a request, as `details` lists it. The field of a body as a whole is `body`. */
interface Flaw extends Record<string, unknown> {
  in: Place
  field: string
  message: string
}

type Issue = z.core.$ZodIssue

const fieldOf = (place: Place, path: readonly PropertyKey[]) => path.map(String).join('.') || place

/** Every unknown key is a flaw of its own, so that `details` names each. */
function flawsOf(place: Place, { path, message, ...issue }: Issue): Flaw[] {
  const fields = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path]
  return fields.map((field) => ({ in: place, field: fieldOf(place, field), message }))
}

/** Answers that list hundreds of flaws help nobody. */
const maxFlaws = 50

const wording = { error: issueText }

function read(place: Place, schema: z.ZodType, value: unknown, flaws: Flaw[]): unknown {
  const parsed = schema.safeParse(value, wording)
  if (parsed.success) return parsed.data
  flaws.push(...parsed.error.issues.flatMap((issue) => flawsOf(place, issue)))
  return undefined
}

/** What comes where nothing is taken: an empty object is as good as nothing, any other value is not. */
function unwanted(place: Place, value: unknown): Flaw[] {
  if (value === undefined || value === null) return []
  if (typeof value !== 'object' || Array.isArray(value))
    return [{ in: place, field: place, message: 'must be left out' }]
  return Object.keys(value).map((field) => ({ in: place, field, message: unknownKey }))
}

/** A query key twice is one value too many: no parameter takes several in this way. The first is read on. */
function once(query: Record<string, unknown>, flaws: Flaw[]): Record<string, unknown> {
  if (!Object.values(query).some(Array.isArray)) return query
  const entries = Object.entries(query).map(([field, value]): [string, unknown] => {
    if (!Array.isArray(value)) return [field, value]
    flaws.push({ in: 'query', field, message: 'must be given once' })
    return [field, value[0]]
  })
  return Object.fromEntries(entries)
}

function readQuery({ query: schema }: Route, given: unknown, flaws: Flaw[]): unknown {
  const query = once((given ?? {}) as Record<string, unknown>, flaws)
  if (schema) return read('query', schema, query, flaws)
  flaws.push(...unwanted('query', query))
  return undefined
}

function readBody({ body: schema }: Route, given: unknown, flaws: Flaw[]): unknown {
  if (schema) return read('body', schema, given, flaws)
  flaws.push(...unwanted('body', given))
  return undefined
}

function readParams({ params }: Route, given: Record<string, unknown>, flaws: Flaw[]) {
  const values: Record<string, unknown> = {}
  for (const name in params) {
    const own: Flaw[] = []
    values[name] = read('path', params[name] as z.ZodType<string>, given[name], own)
    if (own.length > 0) flaws.push(...own.map((flaw) => ({ ...flaw, field: name })))
  }
  return values
}

/**
 * Parameters, query and body as the route's schemas read them. Keys that no schema names are refused, and so is a malformed id:
 * it names nothing, in any tenant.
 *
 * @throws ApiError VALIDATION_ERROR with one entry `{in, field, message}` for each flaw
 */
export function validate(route: Route, request: { params: unknown; query: unknown; body: unknown }) {
  const flaws: Flaw[] = []
  const params = readParams(route, request.params as Record<string, unknown>, flaws)
  const query = readQuery(route, request.query, flaws)
  const body = readBody(route, request.body, flaws)
  if (flaws.length > 0) {
    throw new ApiError('VALIDATION_ERROR', 'the request is not valid', { details: flaws.slice(0, maxFlaws) })
  }
  return { params, query, body }
}

/** What a route's handler is given of a request. */
export type Input = ReturnType<typeof validate>
