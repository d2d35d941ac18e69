import { z } from 'zod'
import { template } from './statement.ts'

/** SQL that writes an object as JSON text, but for its columns: where each of them stands, in order. */
export interface JsonTemplate {
  strings: TemplateStringsArray
  /** for each gap the way to its column */
  gaps: readonly (readonly string[])[]
}

/** As toISOString has it: milliseconds, the rest of a microsecond cut off. Sessions are in UTC (`adapters/postgres.ts`). */
const isoDate = `'"\\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\\""'`
const asJson = ['to_json(', ')::text'] as const

/** What stands before and behind a column that is written alone: a cast where that is cheaper than `to_json`, and as safe. */
function around(type: string, format: string | undefined): readonly [string, string] | undefined {
  if (type === 'date') return ['to_char(', `, ${isoDate})`]
  if (type === 'boolean') return ['(', ')::boolean::text']
  if (type === 'number') return format === 'safeint' ? ['(', ')::bigint::text'] : asJson
  if (type === 'string' && format === 'uuid') return [`'"' || (`, `)::uuid || '"'`]
  if (type === 'string' || type === 'enum') return ['to_json((', ')::text)::text']
  return type === 'record' ? ['(', ')::jsonb::text'] : undefined
}

const atoms = ['string', 'enum', 'number', 'boolean']

/** @throws for what would be written as it comes, whatever keys it has */
function alone(schema: z.ZodType, path: readonly string[]): readonly [string, string] {
  const { type, format } = schema.def as { type: string; format?: string }
  const plain = schema instanceof z.ZodArray && atoms.includes((schema.element as z.ZodType).def.type)
  const text = plain ? asJson : around(type, format)
  if (!text) throw new Error(`${path.join('.')}: Postgres is not told how to write what is ${type}`)
  return text
}

/** Collects text, and the gaps in it. */
class Draft {
  readonly parts = ['']
  readonly gaps: (readonly string[])[] = []

  say(text: string) {
    this.parts.push(`${this.parts.pop()}${text}`)
  }

  gap(path: readonly string[]) {
    this.gaps.push(path)
    this.parts.push('')
  }

  /** `format` looks up once how text is written; `row_to_json` and its kin ask the catalogue about each value. */
  object({ shape }: z.ZodObject, path: readonly string[]) {
    const fields = Object.entries(shape as Record<string, z.ZodType>)
    const odd = fields.find(([name]) => !/^\w+$/.test(name))
    if (odd) throw new Error(`${odd[0]} is no name of a field`)
    this.say(`format('{${fields.map(([name]) => `"${name}":%s`).join()}}'`)
    for (const [name, schema] of fields) {
      this.say(', ')
      this.field(schema instanceof z.ZodNullable ? (schema.unwrap() as z.ZodType) : schema, [...path, name])
    }
    this.say(')')
  }

  field(schema: z.ZodType, path: readonly string[]) {
    if (schema instanceof z.ZodObject) return this.part(schema, path)
    const [before, behind] = alone(schema, path)
    this.say(`coalesce(${before}`)
    this.gap(path)
    this.say(`${behind}, 'null')`)
  }

  part(schema: z.ZodObject, path: readonly string[]) {
    this.say('case when ')
    this.gap([...path, 'when'])
    this.say(' then ')
    this.object(schema, [...path, 'columns'])
    this.say(` else 'null' end`)
  }
}

/** The SQL that writes exactly the fields of `schema`. @throws where it has one that cannot be written so */
export function jsonTemplate(schema: z.ZodObject): JsonTemplate {
  const draft = new Draft()
  draft.object(schema, [])
  return { strings: template(...draft.parts), gaps: draft.gaps }
}
