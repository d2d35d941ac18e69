import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openapi } from '../../../src/kernel/openapi.ts'
import type { Route } from '../../../src/kernel/route.ts'

type Json = Record<string, unknown>

/** Names of texts that callers may fill or read freely: not ids, times or one of a few words. */
function textsIn(schemas: Json, schema: unknown, seen = new Set<unknown>()): string[] {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return []
  seen.add(schema)
  const { $ref, properties, ...rest } = schema as Json
  const target = typeof $ref === 'string' ? schemas[$ref.replace('#/components/schemas/', '')] : undefined
  const named = Object.entries((properties ?? {}) as Record<string, Json>)
  return [
    ...named.filter(([, field]) => isFreeText(schemas, field)).map(([name]) => name),
    ...[target, ...named.map(([, field]) => field), ...Object.values(rest)].flatMap((inner) =>
      textsIn(schemas, inner, seen),
    ),
  ]
}

/** Formats whose values say what they are. */
const told = ['uuid', 'date-time', 'date']

function isFreeText(schemas: Json, field: Json): boolean {
  const { $ref } = field
  const own = typeof $ref === 'string' ? (schemas[$ref.replace('#/components/schemas/', '')] as Json) : field
  const branches = [own, ...((own['anyOf'] ?? own['oneOf'] ?? []) as Json[]), (own['items'] ?? {}) as Json]
  return branches.some(
    ({ type, format, enum: words, const: only }) =>
      (type === 'string' || (Array.isArray(type) && type.includes('string'))) &&
      !told.includes(String(format)) &&
      words === undefined &&
      only === undefined,
  )
}

interface Operation {
  parameters: { name: string; in: string; schema: Json }[]
  requestBody?: Json
  responses: Record<string, Json>
}

/** Texts of one operation, by where they are. */
export interface Texts {
  route: Route
  taken: string[]
  answered: string[]
}

/** What each operation takes and answers, by its own document. */
export function textsOf(routes: readonly Route[]): Texts[] {
  const document = openapi(routes, '0.0.0') as {
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Json }
  }
  const { schemas } = document.components
  return routes.map((route) => {
    const operation = document.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]
    if (!operation) throw new Error(`${route.method} ${route.path} is not in the document`)
    const parameters = operation.parameters
      .filter((one) => one.in !== 'header' && isFreeText(schemas, one.schema))
      .map(({ name }) => name)
    const fine = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
    return {
      route,
      taken: [...parameters, ...textsIn(schemas, operation.requestBody)],
      answered: fine.flatMap(([, response]) => textsIn(schemas, response)),
    }
  })
}

/** Words that secrets are called by. */
const sounds = /secret|token|password|passphrase|credential|private|community|pin$|key$|code$|codes$|otp/i

/**
 * Fields that may hold a secret: those that are taken, or answered to a write, and that no read ever shows; and those that sound like one.
 */
export function suspects(texts: readonly Texts[]): string[] {
  const isRead = ({ route }: Texts) => route.method === 'GET' && !route.writes
  const readable = new Set(texts.filter(isRead).flatMap(({ answered }) => answered))
  const written = texts.filter((one) => !isRead(one)).flatMap(({ answered }) => answered)
  const all = [...texts.flatMap(({ taken }) => taken), ...written]
  const hidden = all.filter((name) => !readable.has(name))
  return [...new Set([...hidden, ...[...all, ...readable].filter((name) => sounds.test(name))])].sort()
}

const root = join(import.meta.dirname, '../../../..')

/** Sources of the programs that serve: name and text. */
export const sources = (...folders: string[]): { name: string; text: string }[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|(^|\/)gen\//.test(name))
      .map((name) => ({ name: join(folder, name), text: readFileSync(join(root, folder, name), 'utf8') })),
  )

const each = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map((match) => String(match[1]).toLowerCase())

/** Headers and cookies that a text reads from a request. */
export function headersRead(text: string): string[] {
  const destructured = each(text, /\{([^{}]*)\} = (?:request|req|message)\.headers\b/g).flatMap((names) =>
    each(names, /(\w+)/g),
  )
  return [
    ...each(text, /headers\['([\w-]+)'\]/g),
    ...each(text, /(?:request|req|message)\.headers\.(\w+)/g),
    ...each(text, /\b(?:client\.|)header\('([\w-]+)'\)/g),
    ...each(text, /getHeader\('([\w-]+)'\)/g),
    ...destructured,
  ]
}

/** Cookies that the product names. */
export const cookiesNamed = (text: string): string[] =>
  each(text, /'(svc_\w+)'/g).filter(
    (name) => name.startsWith('svc_') && /token|cookie|session|sso$/.test(name),
  )

/** `table.column` of the schema that may hold a secret or something made from one: bytes, and what sounds like it. */
export function columnsOf(schema: string): string[] {
  return [...schema.matchAll(/^create table svc\.(\w+) \(\n([^]*?)^\);/gm)].flatMap(
    ([, table = '', body = '']) =>
      [...body.matchAll(/^ {2}(\w+) (\S+)/gm)]
        .filter(
          ([, name = '', type = '']) =>
            !['constraint'].includes(name) && (type.startsWith('bytea') || sounds.test(name)),
        )
        .map(([, name]) => `${table}.${name}`),
  )
}

/** Variables of a program by its configuration. */
export const variablesOf = (text: string): string[] =>
  [...text.matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)]
    .map((match) => String(match[1]))
    .filter((name) => /TOKEN|PASSWORD|SECRET|KEY/.test(name))

/** Variables that may be given as a file, because they are secret. */
export const secretVariables = (text: string): string[] =>
  each(/const secrets = \[([^\]]*)\]/.exec(text)?.[1] ?? '', /'(\w+)'/g).map((name) => name.toUpperCase())
