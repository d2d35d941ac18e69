import fastJson from 'fast-json-stringify'
import { z } from 'zod'

type JsonSchema = Record<string, unknown>

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
export const compiled = (schema: z.ZodType): ((value: unknown) => string) =>
  fastJson(serializerSchema(schema) as never)

/**
 * Writes answers as the schema says: columns that it does not name are dropped, however they came (house rule: an answer leaks
 * nothing that was not declared). Compiled once, for its first answer: a start does not wait for what nobody may ask today.
 */
export function serializer(schema: z.ZodType): (value: unknown) => string {
  let write: ReturnType<typeof compiled> | undefined
  return (value) => (write ??= compiled(schema))(value)
}
