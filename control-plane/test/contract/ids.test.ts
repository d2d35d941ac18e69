import { expect, test } from 'vitest'
import { z } from 'zod'
import { routes } from '../../src/areas/index.ts'

const lower = 'abcdef00-7c11-7000-8000-00000000000f'
const upper = lower.toUpperCase()

/** Schemas within a schema: those of fields, items, branches, and of what stands before a transformation. */
function within(schema: unknown): z.ZodType[] {
  if (!(schema instanceof z.ZodType)) return []
  const def = schema.def as unknown as Record<string, unknown>
  const inner = [def['innerType'], def['element'], def['in'], def['out'], def['catchall'], def['valueType']]
  const branches = [...((def['options'] as unknown[]) ?? []), ...((def['items'] as unknown[]) ?? [])]
  const fields = schema instanceof z.ZodObject ? Object.values(schema.shape) : []
  return [schema, ...[...inner, ...branches, ...fields].flatMap(within)]
}

/** What a schema makes of an id in capitals; undefined: it takes none. */
const made = (schema: z.ZodType): unknown => schema.safeParse(upper).data

/** Ids that are taken as they are written. */
const asWritten = (schema: unknown) =>
  within(schema).filter((each) => each instanceof z.ZodUUID && made(each) !== lower)

/** Fields of a query are text; those with several ids are read by a transformation that no walk sees. */
const listsAsWritten = (query: unknown) =>
  query instanceof z.ZodObject
    ? Object.entries(query.shape).filter(
        ([name, field]) => name.endsWith('Ids') && String(made(field as z.ZodType)) !== lower,
      )
    : []

const taking = routes.map((route) => [`${route.method} ${route.path}`, route] as const)

test.each(taking)('%s: an id in capitals is read as the same id', (_name, { params, query, body }) => {
  const found = [...Object.values(params), query, body].flatMap(asWritten)
  expect([found.length, listsAsWritten(query)]).toEqual([0, []])
})

test('an id that is taken as it is written would be found, wherever it stands', () => {
  const planted = z.strictObject({ a: z.array(z.union([z.null(), z.uuid().optional().default(lower)])) })
  expect(asWritten(planted.partial().refine(() => true))).toHaveLength(1)
  expect(listsAsWritten(z.object({ siteIds: z.string() }))).toHaveLength(1)
})
