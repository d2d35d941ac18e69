import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
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
  /** instead of the sample's body */
  body?: unknown
  headers?: Record<string, string>
}

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

/** The keys of a body that hold an id, and of what. */
export const refsOf = (body: Sample['body']): [key: string, kind: Kind][] =>
  Object.entries(body ?? {}).flatMap(([key, value]) =>
    value instanceof Ref ? [[key, value.kind] as [string, Kind]] : [],
  )

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
  if ('body' in given) return given.body
  const meant = { ...things, ...swap }
  if (!sample.ceremony) return sample.body && filled(sample.body, meant)
  return sample.ceremony({ world, things: meant, person: caller?.person })
}

async function authorization({ person, bearer }: Caller): Promise<Record<string, string>> {
  const token = bearer ?? (await person?.token())
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** Calls a route as its sample says. @param app default: the world's own */
export async function call(
  world: World,
  name: string,
  options: CallOptions,
  app: FastifyInstance = world.app,
): Promise<Reply> {
  const sample = sampleOf(name)
  const body = await bodyOf(world, sample, options)
  const response = await app.inject({
    method: name.split(' ')[0] as 'GET',
    url: prefix + pathOf(name, sample, { ...options.things, ...options.swap }),
    headers: { ...(await authorization(options.caller ?? {})), ...options.headers },
    remoteAddress: nextAddress(),
    ...((sample.query ?? options.query) && { query: { ...sample.query, ...options.query } }),
    ...(body !== undefined && { payload: body as object }),
  })
  const isJson =
    String(response.headers['content-type']).startsWith('application/json') && response.body !== ''
  return { status: response.statusCode, text: response.body, json: isJson ? response.json() : undefined }
}
