import fastJson from 'fast-json-stringify'
import { z } from 'zod'
import { textOfRows } from './rows-as-json.ts'

type JsonSchema = Record<string, unknown>
type Write = (value: unknown) => string

/** The one other branch of `anyOf: [X, null]`, when it says its type itself. */
function nullableBranch({ anyOf }: JsonSchema): JsonSchema | undefined {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return undefined
  const branches = anyOf as JsonSchema[]
  const other = branches.find(({ type }) => type !== 'null')
  const hasNull = branches.some(({ type }) => type === 'null')
  return hasNull && typeof other?.['type'] === 'string' ? other : undefined
}

/** zod's dates are no JSON; here they are `date-time`. */
function asDateTime(schema: z.core.$ZodTypes, json: JsonSchema) {
  if (schema._zod.def.type === 'date') Object.assign(json, { type: 'string', format: 'date-time' })
}

/** For OpenAPI: what a client gets, with `X or null` said in one schema where that is possible. */
export function outputSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'output',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const json = jsonSchema as JsonSchema
      asDateTime(zodSchema, json)
      const branch = nullableBranch(json)
      if (!branch) return
      const values = branch['enum'] as unknown[] | undefined
      delete json['anyOf']
      Object.assign(json, branch, { type: [branch['type'], 'null'] }, values && { enum: [...values, null] })
    },
  }) as JsonSchema
}

/**
 * For the serializer. It chooses between branches by validating, so a branch must not refuse what it would drop:
 * `additionalProperties` goes, and named schemas are written out.
 */
function serializerSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'output',
    unrepresentable: 'any',
    metadata: z.registry<Record<string, unknown>>(),
    override: ({ zodSchema, jsonSchema }) => {
      const json = jsonSchema as JsonSchema
      asDateTime(zodSchema, json)
      if (json['additionalProperties'] === false) delete json['additionalProperties']
      const branch = nullableBranch(json)
      if (!branch) return
      delete json['anyOf']
      Object.assign(json, branch, { nullable: true })
      delete json['enum'] // null is none of its values
    },
  }) as JsonSchema
}

/** What writes one answer, compiled. @throws where a schema cannot be written as JSON */
export const compiled = (schema: z.ZodType): Write => fastJson(serializerSchema(schema) as never)

/** Compiled once, for its first answer: a start does not wait for what nobody may ask today. */
function atFirst(schema: () => z.ZodType): Write {
  let write: Write | undefined
  return (value) => (write ??= compiled(schema()))(value)
}

/** The lists that an answer has at its top, and what writes the rest of it. */
const listsOf = (schema: z.ZodType) =>
  schema instanceof z.ZodObject
    ? Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, list]) => {
        const without = () => schema.omit({ [name]: true } as never)
        return list instanceof z.ZodArray ? [{ name, item: list.element, rest: atFirst(without) }] : []
      })
    : []

/** @param rest an object as JSON; the list comes before it */
const joined = (name: string, rows: string, rest: string) =>
  `{"${name}":[${rows}]${rest === '{}' ? '' : ','}${rest.slice(1)}`

/**
 * Writes answers as the schema says: columns that it does not name are dropped, however they came (house rule: an answer leaks
 * nothing that was not declared). Rows that Postgres wrote, as the same schema says, go in as they are.
 */
export function serializer(schema: z.ZodType): Write {
  const whole = atFirst(() => schema)
  const lists = listsOf(schema)
  return (value) => {
    for (const { name, item, rest } of lists) {
      const rows = textOfRows((value as Record<string, unknown> | null)?.[name], item as z.ZodType)
      if (rows !== undefined) return joined(name, rows, rest(value))
    }
    return whole(value)
  }
}
