import { z } from 'zod'
import { envelopeOf } from './envelope.ts'
import { Id } from './id.ts'
import type { DownloadSpec, ListSpec, Method, RedirectSpec, Route, RouteSpec, StreamSpec } from './route.ts'
import { listEnvelope } from './list.ts'
import { PageQuery } from './page.ts'

/** `'GET /devices/:id'` into its two halves. */
function split(name: string): { method: Method; path: string } {
  const [method, path] = name.split(' ') as [Method, string]
  return { method, path }
}

/** An object schema refuses keys that it does not name; nested ones say so themselves (`z.strictObject`). */
const strict = (schema: z.ZodType | undefined): z.ZodType | undefined =>
  schema instanceof z.ZodObject && schema.def.catchall === undefined ? schema.strict() : schema

const pathParams = (path: string) => [...path.matchAll(/:(\w+)/g)].map((match) => String(match[1]))

/** A parameter named `id` or `…Id` is a uuid; any other is short text. */
const paramSchema = (name: string): z.ZodType<string> =>
  name === 'id' || name.endsWith('Id') ? Id : z.string().min(1).max(500)

/** Answers below `/auth/` hold tokens and are never kept; `/auth/refresh` has its own way of being repeated. */
const isRemembered = (path: string) => !path.startsWith('/auth/')

/** Declares one endpoint: `'METHOD /path/:param'` and what is true of it. Nothing happens until it is mounted. */
export function route<
  const R extends `${Method} /${string}`,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  S extends z.ZodType | undefined = undefined,
  A = unknown,
  P = undefined,
>(name: R, spec: RouteSpec<R, Q, B, S, A, P>): Route {
  const { method, path } = split(name)
  const own = (spec.params ?? {}) as Record<string, z.ZodType<string>>
  const writes = method !== 'GET' || ('writes' in spec && spec.writes === true)
  return {
    method,
    path,
    can: spec.can,
    summary: spec.summary,
    ...(spec.limit !== undefined && { limit: spec.limit }),
    ...(spec.atOnce !== undefined && { atOnce: spec.atOnce }),
    ...(spec.reserved && { reserved: true }),
    ...(spec.existsIf !== undefined && { existsIf: spec.existsIf }),
    ...(spec.mfaExempt && { mfaExempt: true }),
    ...(spec.freshMfa && { freshMfa: true }),
    ...(spec.fullAccess !== undefined && { fullAccess: spec.fullAccess }),
    audit: spec.audit ?? false,
    writes,
    params: Object.fromEntries(pathParams(path).map((param) => [param, own[param] ?? paramSchema(param)])),
    query: strict(spec.query),
    body: strict(spec.body),
    returns: spec.returns,
    status: spec.status ?? (spec.returns ? 200 : 204),
    idempotent:
      isRemembered(path) && writes && spec.transaction !== false ? (spec.idempotent ?? true) : false,
    transaction: writes && spec.transaction !== false,
    list: false,
    download: false,
    stream: undefined,
    streams: undefined,
    redirect: false,
    prepare: spec.prepare as Route['prepare'],
    run: spec.run as Route['run'],
    answer: spec.answer as Route['answer'],
  }
}

/** Declares a generic list, newest first: `{data, pagination: {hasMore, cursor}}` (interface §Paging envelopes). */
export function list<
  const R extends `GET /${string}`,
  F extends z.ZodObject | undefined,
  I extends z.ZodType,
>(name: R, spec: ListSpec<R, F, I>): Route {
  const filter: z.ZodObject = spec.filter ?? z.object({})
  return {
    ...route(name, {
      can: spec.can,
      summary: spec.summary,
      ...(spec.limit !== undefined && { limit: spec.limit }),
      ...(spec.mfaExempt && { mfaExempt: true }),
      query: filter.extend(PageQuery),
      returns: envelopeOf(spec.item),
      run: listEnvelope(name, spec) as never,
    } as never),
    list: true,
  }
}

/** Declares an endpoint that sends bytes, whole or a range of them, or says where else they are. */
export function download<const R extends `GET /${string}`, Q extends z.ZodType | undefined = undefined>(
  name: R,
  spec: DownloadSpec<R, Q>,
): Route {
  return { ...route(name, spec as never), status: 200, download: true }
}

/** Declares an endpoint that sends rows piece by piece. It is a write for what it leaves behind: its audit row. */
export function stream<
  const R extends `${'GET' | 'POST'} /${string}`,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(name: R, spec: StreamSpec<Q, B>): Route {
  const { run, streams, ...said } = spec
  const never = () => Promise.reject(new Error(`${name} is streamed`))
  const declared = route(name, { ...said, writes: true, transaction: false, run: never } as never)
  return { ...declared, status: 200, idempotent: false, stream: run as Route['stream'], streams }
}

/** Declares an endpoint that sends a browser on, in a transaction of its own. */
export function redirect<
  const R extends `GET /${string}`,
  Q extends z.ZodType | undefined = undefined,
  P = undefined,
>(name: R, spec: RedirectSpec<R, Q, P>): Route {
  return {
    ...route(name, { ...spec, writes: true, idempotent: false } as never),
    status: 302,
    redirect: true,
  }
}
