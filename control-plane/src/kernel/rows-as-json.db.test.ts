import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { databaseForFile } from '../../test/harness/database.ts'
import { openPool } from '../adapters/postgres.ts'
import { readerDb } from './db.ts'
import { type Columns, rowsAsJson } from './rows-as-json.ts'
import { serializer } from './serialize.ts'

const { url } = await databaseForFile()
const pool = openPool({ url, max: 1, name: 'rows as JSON' })
const db = readerDb(pool, { kind: 'system' })
const { sql } = db
afterAll(() => pool.end())

const Part = z.object({ name: z.string().nullable(), size: z.int().nullable() })
const Row = z.object({
  id: z.uuid(),
  other: z.uuid().nullable(),
  text: z.string().nullable(),
  kind: z.enum(['a', 'b']).nullable(),
  at: z.date().nullable(),
  whole: z.int().nullable(),
  real: z.number().nullable(),
  yes: z.boolean().nullable(),
  tags: z.array(z.string()),
  free: z.record(z.string(), z.unknown()),
  part: Part.nullable(),
})
type Row = z.output<typeof Row>
const Rows = z.object({ rows: z.array(Row), total: z.int().optional() })
const write = serializer(Rows)

const columns: Columns<Row> = {
  id: sql`r.id`,
  other: sql`r.other`,
  text: sql`r.text`,
  kind: sql`r.kind`,
  at: sql`r.at`,
  whole: sql`r.whole`,
  real: sql`r.real`,
  yes: sql`r.yes`,
  tags: sql`r.tags`,
  free: sql`r.free`,
  part: { when: sql`r.size is not null`, columns: { name: sql`r.text`, size: sql`r.size` } },
}
const id = (n: number) => `01a21f8a-3ea1-71ca-a52c-${String(n).padStart(12, '0')}`

interface Given {
  text?: string
  at?: string
  whole?: string
  real?: string
  tags?: string[]
  free?: string
  size?: string
}

/** A subquery `r` of a row for each. */
const given = (rows: readonly Given[]) => sql`(
  select g.n, lpad('', 8, '0')::text as secret, ('01a21f8a-3ea1-71ca-a52c-' || lpad(g.n::text, 12, '0'))::uuid as id,
    case when g.n % 2 = 0 then '01a21f8a-3ea1-71ca-a52c-014e2d5cab46'::uuid end as other, case when g.n % 2 = 0 then 'a' end as kind,
    case when g.n % 2 = 0 then g.n % 4 = 0 end as yes, g.row ->> 'text' as text, (g.row ->> 'at')::timestamptz as at,
    (g.row ->> 'whole')::bigint as whole, (g.row ->> 'real')::real as real, (g.row ->> 'size')::bigint as size,
    array(select jsonb_array_elements_text(coalesce(g.row -> 'tags', '[]'))) as tags,
    coalesce(g.row ->> 'free', '{}')::jsonb as free
  from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) with ordinality g (row, n)) r`

const page = (rows: readonly Given[], shown = rows.length) =>
  rowsAsJson(Row)(db, columns, {
    place: sql`r.n`,
    id: sql`r.id`,
    from: sql`from ${given(rows)} order by r.n`,
  }).page(db, shown)

/** The way of all other answers: column by column through the driver, and written by the serializer. */
async function columnByColumn(rows: readonly Given[]) {
  const read = await db.rows<Row & { size: number | null }>`select r.* from ${given(rows)} order by r.n`
  const whole = read.map(({ size, ...row }) => ({
    ...row,
    part: size === null ? null : { name: row.text, size },
  }))
  return write({ rows: whole, total: 1 })
}

const texts = [
  '',
  'a "quoted" \\ back\\nslash / and \u2028 \u00e9\u4e2d\u{1f600} \u202e',
  Array.from({ length: 31 }, (_, n) => String.fromCharCode(n + 1)).join('') + '\u007f\u0080',
  '"},\n{"id":"x',
  '%s %1$s %% %I',
  'null',
]
const times = [
  '2026-11-28T09:30:00Z',
  '2026-11-28T09:30:00.1Z',
  '2026-11-28T09:30:00.12Z',
  '2026-11-28T09:30:00.123999Z',
  '2026-12-31T23:59:59.999999Z',
  '2026-12-31T23:59:59.9999995Z',
  '2026-11-28T09:30:00.0009994Z',
  '2026-11-28T12:30:00.000001+03:00',
  '1969-12-31T23:59:59.999999Z',
  '0099-03-01T00:00:00.5Z',
  '9999-12-31T23:59:59.999Z',
]
const frees = [
  '{"b": {"deep": [1, {"x": null}, "\\u0001,\\n"]}, "a": true, "": "empty", "%s": "%s"}',
  '{"small": 0.1, "large": 1e21, "exact": 12345678901234567890.5, "tiny": 1e-7, "zero": -0}',
]
const edges: Given[] = [
  {},
  ...texts.map((text) => ({ text, tags: [text, ...texts], size: '1' })),
  ...times.map((at) => ({ at })),
  ...frees.map((free) => ({ free })),
  ...['0', '-1', '9007199254740991'].map((whole) => ({ whole, size: whole })),
  ...['0.1', '33.333332', '100', '1e-7', '1e20', '3.4028235e38', '-0', '16777217'].map((real) => ({ real })),
]
/** -0 is 0. */
const meaning = (json: string) => JSON.parse(JSON.stringify(JSON.parse(json)))

test('what Postgres writes means what column by column would be written', async () => {
  const { rows } = await page(edges)
  const [ours, theirs] = [write({ rows, total: 1 }), await columnByColumn(edges)].map(meaning)
  expect(ours.rows).toHaveLength(edges.length)
  expect(ours).toEqual(theirs)
  expect(Object.keys(ours.rows[0])).toEqual(Object.keys(Row.shape))
})

test('times are cut to milliseconds, never rounded', async () => {
  const { rows } = await page(times.map((at) => ({ at })))
  const shown = JSON.parse(write({ rows })).rows.map(({ at }: { at: string }) => at)
  expect(shown.slice(3, 5)).toEqual(['2026-11-28T09:30:00.123Z', '2026-12-31T23:59:59.999Z'])
})

test('a row more than are shown tells where the next page goes on, and is not shown', async () => {
  const texts = ['a,\n', 'b,\n', 'c'].map((text) => ({ text }))
  const two = await page(texts, 2)
  expect(two.next).toEqual({ key: '2', id: id(2) })
  expect(JSON.parse(write(two)).rows.map(({ text }: Row) => text)).toEqual(['a,\n', 'b,\n'])
  expect((await page(texts, 3)).next).toBeUndefined()
  expect(write(await page([], 3))).toBe('{"rows":[]}')
})

test('what the schema does not name is in no answer, wherever it is given', async () => {
  const extra = { ...columns, secret: sql`r.secret` }
  const source = { place: sql`r.n`, id: sql`r.id`, from: sql`from ${given([{}])}` }
  const text = write({ ...(await rowsAsJson(Row)(db, extra, source).page(db, 1)), secret: 'x' })
  expect(text).not.toContain('secret')
})

test('rows go into the answer that declares them, and nowhere else', async () => {
  const { rows } = await page([{}])
  const other = serializer(z.object({ rows: z.array(Row.extend({})) }))
  expect(() => other({ rows })).toThrow('another schema')
  expect(() => serializer(z.object({ in: Rows }))({ in: { rows } })).toThrow()
  expect(() => JSON.stringify({ rows })).toThrow('no value of it')
})

test.each([
  ['objects in a list', z.array(Part)],
  ['one of several', z.union([z.string(), z.int()])],
  ['what may be missing', z.string().optional()],
  ['anything', z.unknown()],
])('a schema is refused that Postgres cannot be held to: %s', (_, field) => {
  expect(() => rowsAsJson(z.object({ field }))).toThrow('field: Postgres is not told')
})
