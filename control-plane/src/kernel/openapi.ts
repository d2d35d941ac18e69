import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { catalogue } from './errors.ts'
import { refusalsOf, sharedRefusals } from './refusals.ts'
import type { Route } from './route.ts'
import { type Limit, limits } from './limits.ts'
import { outputSchema } from './serialize.ts'

type Json = Record<string, unknown>

const target = 'draft-2020-12'

/** JSON schemas put what they share under `$defs`; in the document all of it lives under `components.schemas`. */
class Components {
  readonly schemas: Json = {}

  /** The schema with its definitions taken out. */
  lift(schema: Json): Json {
    const { $schema: _dialect, $defs, ...own } = schema as Json & { $defs?: Json }
    for (const [name, definition] of Object.entries($defs ?? {})) this.schemas[name] = this.point(definition)
    const id = own['id']
    if (typeof id !== 'string') return this.point(own) as Json
    delete own['id']
    this.schemas[id] = this.point(own)
    return { $ref: `#/components/schemas/${id}` }
  }

  /** References into the document; `id` is how zod marks a named schema and means something else in JSON Schema. */
  private point(value: unknown): unknown {
    const text = JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/')
    const copy = JSON.parse(text) as Json
    if (typeof copy['id'] === 'string') delete copy['id']
    return copy
  }
}

/** What a client sends. zod drops examples and defaults where a value is transformed on its way in; ours are of what is sent. */
const inputSchema = (schema: z.ZodType): Json =>
  z.toJSONSchema(schema, {
    target,
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod
      const { examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (examples) jsonSchema.examples = examples as never
      if (def.type === 'default') jsonSchema.default = def.defaultValue as never
    },
  }) as Json

/** `/devices/:id` as OpenAPI writes it. */
const pathOf = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}')

/** A parameter says itself what it is; where its schema said so, twice would be once too often. */
function parameter(place: 'path' | 'query', name: string, required: boolean, schema: Json): Json {
  const { description, ...own } = schema
  return { name, in: place, required, ...(description !== undefined && { description }), schema: own }
}

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A text of your own, 1 to 255 visible ASCII characters. The same key with the same request gets the same answer for 24 hours, and acts once.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

function parameters(route: Route, components: Components): Json[] {
  const inPath = Object.entries(route.params).map(([name, schema]) =>
    parameter('path', name, true, components.lift(inputSchema(schema))),
  )
  const query = route.query ? (inputSchema(route.query) as { properties?: Json; required?: string[] }) : {}
  const inQuery = Object.entries(query.properties ?? {}).map(([name, schema]) =>
    parameter('query', name, query.required?.includes(name) ?? false, components.lift(schema as Json)),
  )
  return [...inPath, ...inQuery, ...(route.idempotent ? [idempotencyKey] : [])]
}

const callers: Record<string, string> = {
  public: 'Anybody may call it.',
  enrollment: 'The enrollment key in the body is the credential.',
  'signed-in': 'Any logged-in user may call it.',
  portal: 'Needs a portal session.',
  platform: 'Needs the administrator of the platform.',
}

/** A window as people say it. */
function span(seconds: number): string {
  const [count, unit] = seconds % 3_600 ? [seconds / 60, 'minute'] : [seconds / 3_600, 'hour']
  return count === 1 ? `one ${unit}` : `${count} ${unit}s`
}

/** A refusal speaks of this address, the document of any one. */
const limitText = ({ points, of, seconds }: Limit) =>
  `At most ${points} ${of.replaceAll(/\bthis\b/g, 'one')} in ${span(seconds)}.`

/** Who may call, and what stops them: all that the declaration says beside shapes. */
function conditions({ can, freshMfa, limit = [] }: Route): string {
  const names = typeof limit === 'string' ? [limit] : limit
  return [
    callers[can] ?? `Needs permission \`${can}\`.`,
    ...(freshMfa
      ? ['Needs a second factor checked within ten minutes (`POST /auth/mfa/verify`); API keys do not.']
      : []),
    ...names.map((name) => limitText(limits[name])),
  ].join(' ')
}

/** Bytes, a range of them, nothing that the client has not, or another place. */
const downloads: Json = {
  '200': {
    description: 'The bytes; `ETag` and `Repr-Digest` are their SHA-256.',
    content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
  },
  '206': { description: 'The range of them that `Range` asks for.' },
  '302': { description: 'They are elsewhere: see `Location`.' },
  '304': { description: 'The client has them: `If-None-Match`.' },
}

/** Rows as they are read, in the form that was asked for. */
const streams: Json = {
  '200': {
    description:
      'The rows, sent as they are read; `svc-export-rows` counts them, `svc-export-truncated` says whether there were more.',
    content: {
      'text/csv': { schema: { type: 'string' } },
      'application/json': { schema: { type: 'object' } },
    },
  },
}

function responses(route: Route, components: Components): Json {
  const refusals = { ...refusalsOf(route), default: { $ref: '#/components/responses/Error' } }
  if (route.stream) return { ...streams, ...refusals }
  if (route.download) return { ...downloads, ...refusals }
  if (route.redirect) return { '302': { description: `${route.summary}: see \`Location\`.` }, ...refusals }
  const content = route.returns && {
    content: { 'application/json': { schema: components.lift(outputSchema(route.returns)) } },
  }
  return {
    [String(route.status)]: { description: route.summary, ...content },
    ...refusals,
  }
}

const open = new Set(['public', 'enrollment'])

function operation(route: Route, components: Components): Json {
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[^A-Za-z0-9]+(\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, '')}`,
    summary: route.summary,
    tags: [route.path.split('/')[1]],
    description: conditions(route),
    security: open.has(route.can) ? [] : [{ bearer: [] }, { apiKey: [] }],
    parameters: parameters(route, components),
    ...(route.body && {
      requestBody: {
        required: !route.body.safeParse(undefined).success,
        content: { 'application/json': { schema: components.lift(inputSchema(route.body)) } },
      },
    }),
    responses: responses(route, components),
  }
}

const error = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'details'],
      properties: {
        code: { type: 'string', enum: Object.keys(catalogue) },
        message: { type: 'string', description: 'For people; programs read `code`.' },
        details: {
          type: 'array',
          items: { type: 'object' },
          description: 'With VALIDATION_ERROR one `{in, field, message}` for each thing that is wrong.',
        },
      },
    },
    retryAfter: { type: 'integer', description: 'Seconds; with 429 and 503.' },
  },
  examples: [
    {
      error: {
        code: 'VALIDATION_ERROR',
        message: 'the request is not valid',
        details: [{ in: 'body', field: 'name', message: 'is missing' }],
      },
    },
  ],
}

const errorContent: Json = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }

/** The document while it is made, an operation at a time. */
class Draft {
  readonly #version: string
  readonly #components = new Components()
  readonly #paths: Record<string, Json> = {}

  constructor(version: string) {
    this.#version = version
  }

  add(route: Route) {
    const path = pathOf(route.path)
    const described = operation(route, this.#components)
    this.#paths[path] = { ...this.#paths[path], [route.method.toLowerCase()]: described }
  }

  whole(): Json {
    return {
      openapi: '3.1.0',
      info: {
        title: 'svc',
        version: this.#version,
        description: 'Endpoint management: agents, commands, inventory.',
      },
      servers: [{ url: '/api/v1' }],
      paths: this.#paths,
      components: {
        schemas: { ...this.#components.schemas, Error: error },
        responses: {
          Error: { description: 'Refused or failed.', content: errorContent },
          ...sharedRefusals(errorContent),
        },
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        },
      },
    }
  }
}

/** The route table as an OpenAPI 3.1 document. */
export function openapi(routes: readonly Route[], version: string): Json {
  const draft = new Draft(version)
  for (const route of routes) draft.add(route)
  return draft.whole()
}

/** The same, as JSON, while others are served: an operation takes about a millisecond, all of them half a second. */
export async function openapiInTurns(routes: readonly Route[], version: string): Promise<string> {
  const draft = new Draft(version)
  for (const route of routes) {
    draft.add(route)
    await setImmediate()
  }
  return JSON.stringify(draft.whole())
}
