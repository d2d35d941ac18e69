import { randomBytes } from 'node:crypto'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { z } from 'zod'
import { routes } from '../../../src/areas/index.ts'
import { prefix } from '../../../src/app.ts'
import type { Route } from '../../../src/kernel/route.ts'
import type { Caller } from './callers.ts'
import { Ref, samples, Unique, type Sample } from './samples.ts'
import type { Kind, Things, World } from './things.ts'

/** An answer as bytes came back. */
export interface Reply {
  status: number
  text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  json: any
}

export interface CallOptions {
  /** default: nobody */
  caller?: Caller
  things: Things
  /** ids that differ from `things`, in path and body */
  swap?: Partial<Things>
  query?: Record<string, string>
  /** instead of the sample's body, filled as that is */
  body?: unknown
  headers?: Record<string, string>
}

/** A browser brings along whatever an identity provider gave it. */
export const takesAnything = ({ query }: Pick<Route, 'query'>): boolean =>
  query instanceof z.ZodObject && query.def.catchall instanceof z.ZodUnknown

export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>) => `${method} ${path}`

/** The sample of a route. @throws when the literal list has none */
export function sampleOf(name: string): Sample {
  const sample = samples[name]
  if (!sample) throw new Error(`${name} has no sample in control-plane/test/contract/world/samples.ts`)
  return sample
}

/** Every route of the table with its sample. */
export const table = routes.map((route) => ({ route, name: nameOf(route), sample: sampleOf(nameOf(route)) }))

function filled(value: unknown, things: Things): unknown {
  if (value instanceof Ref) return things[value.kind]
  if (value instanceof Unique) {
    const { text, tail } = value
    return `${text}${tail ? '' : ' '}${randomBytes(6).toString('hex')}${tail}`
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, things))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner, things)]))
}

/** What of {@link Things} a call uses. */
export const usedBy = ({ params, body, lists, filters, ceremony }: Sample): ReadonlySet<keyof Things> =>
  new Set([
    ...Object.values({ ...params, ...filters }),
    ...refsOf(body).map(([, kind]) => kind),
    ...(lists ? [lists] : []),
    ...(ceremony ? (['enrollmentSecret'] as const) : []),
  ])

/** The keys of a body that hold an id or a list of them, and of what. */
export const refsOf = (body: Sample['body']): [key: string, kind: Kind][] =>
  Object.entries(body ?? {}).flatMap(([key, value]) => {
    const [first] = [value].flat()
    return first instanceof Ref ? [[key, first.kind] as [string, Kind]] : []
  })

/** The keys of a body that hold a list of ids, and of what. */
export const listsOfRefs = (body: Sample['body']): [key: string, kind: Kind][] =>
  refsOf(body).filter(([key]) => Array.isArray(body?.[key]))

const pathOf = (name: string, { params = {}, fixed = {} }: Sample, things: Things) =>
  (name.split(' ')[1] ?? '').replaceAll(/:(\w+)/g, (_, param: string) => {
    if (fixed[param]) return fixed[param]
    const kind = params[param]
    if (!kind) throw new Error(`the sample of ${name} does not say what :${param} names`)
    return things[kind]
  })

let address = 0
/** No request is to run into the limits of another's address. */
const nextAddress = () => `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address++ & 255}`

async function bodyOf(
  world: World,
  sample: Sample,
  { things, swap, caller, ...given }: CallOptions,
): Promise<unknown> {
  const meant = { ...things, ...swap }
  if ('body' in given) return filled(given.body, meant)
  if (!sample.ceremony) return sample.body && filled(sample.body, meant)
  return sample.ceremony({ world, things: meant, person: caller?.person })
}

/** The headers that say who asks. */
export async function credentialOf({ person, bearer, apiKey }: Caller): Promise<Record<string, string>> {
  if (apiKey !== undefined) return { 'x-api-key': apiKey }
  const token = bearer ?? (await person?.token())
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** A request that can be sent. */
export type Prepared = InjectOptions & { method: string; url: string; headers: Record<string, string> }

/** Does what must come before a call that is as the sample says, and makes it. */
export async function prepare(world: World, name: string, options: CallOptions): Promise<Prepared> {
  const sample = sampleOf(name)
  const body = await bodyOf(world, sample, options)
  return {
    method: name.split(' ')[0] as 'GET',
    url: prefix + pathOf(name, sample, { ...options.things, ...options.swap }),
    headers: { ...(await credentialOf(options.caller ?? {})), ...sample.headers, ...options.headers },
    remoteAddress: nextAddress(),
    ...((sample.query ?? options.query) && { query: { ...sample.query, ...options.query } }),
    ...(body !== undefined && { payload: body as object }),
  }
}

/** What the request says of things itself: it may be told that again. */
export const saidBy = ({ url, query, payload }: Prepared) => JSON.stringify([url, query, payload])

export async function send(app: FastifyInstance, request: Prepared): Promise<Reply> {
  const response = await app.inject(request)
  const isJson =
    String(response.headers['content-type']).startsWith('application/json') && response.body !== ''
  return { status: response.statusCode, text: response.body, json: isJson ? response.json() : undefined }
}

/** Calls a route as its sample says. @param app default: the world's own */
export const call = async (
  world: World,
  name: string,
  options: CallOptions,
  app: FastifyInstance = world.app,
): Promise<Reply> => send(app, await prepare(world, name, options))
