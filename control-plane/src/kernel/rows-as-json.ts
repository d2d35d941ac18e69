import type { Fragment } from 'postgres'
import type { z } from 'zod'
import { jsonTemplate } from './json-template.ts'
import type { Db } from './tenancy.ts'

/** An object within a row: whether there is one, and its own columns. */
interface Part<T> {
  when: Fragment
  columns: Columns<T>
}

type Column<V> = V extends string | number | boolean | Date | readonly unknown[]
  ? Fragment
  : string extends keyof V
    ? Fragment
    : Part<V>

/** For each field where it comes from: neither one less nor one more. */
export type Columns<T> = { readonly [K in keyof T]-?: Column<NonNullable<T[K]>> }

/** Rows in order, each with its sort key and id. */
interface Source {
  place: Fragment
  id: Fragment
  /** the statement from its `from` on */
  from: Fragment
}

/** Rows of an answer that are JSON text already. Only {@link JsonSelect} makes them: whatever else is text cannot pass for them. */
class JsonRows<T> {
  readonly #item: z.ZodType<T>
  readonly #text: string

  constructor(item: z.ZodType<T>, text: string) {
    this.#item = item
    this.#text = text
  }

  /** @throws where the answer declares rows of another schema than they were written as */
  static textOf(value: unknown, item: z.ZodType): string | undefined {
    if (!(value instanceof JsonRows)) return undefined
    if (value.#item !== item) throw new Error('rows that were written as another schema says')
    return value.#text
  }

  toJSON(): never {
    throw new Error('rows that are JSON already are no value of it')
  }
}
export type { JsonRows }

/** The text between the brackets, where `value` is rows that Postgres wrote. @param item what the answer declares them to be */
export const textOfRows = (value: unknown, item: z.ZodType): string | undefined =>
  JsonRows.textOf(value, item)

/** What may stand for T in an answer: its lists as Postgres wrote them. */
export type WithJsonRows<T> = {
  [K in keyof T]: T[K] | (NonNullable<T[K]> extends readonly (infer I)[] ? JsonRows<I> : never)
}

/** A page, and where the next one goes on: the sort key of its last row as text, which keeps microseconds and infinities, and its id. */
export interface JsonPage<T> {
  rows: JsonRows<T>
  next: { key: string; id: string } | undefined
}

interface Aggregate {
  json: string | null
  count: number
  key: string
  id: string
}

/** A statement whose rows Postgres writes as JSON. */
class JsonSelect<T> {
  readonly fragment: Fragment
  readonly #item: z.ZodType<T>

  constructor(item: z.ZodType<T>, fragment: Fragment) {
    this.fragment = fragment
    this.#item = item
  }

  /**
   * All rows are one value: to send and take each apart costs more than its text. They come in the order of the statement, which is that
   * of an index; an `order by` in the aggregate would sort them again.
   * @param shown one row more tells that there is a next page; it is left out, by the end of a line, which no row has within
   */
  async page(db: Db, shown: number): Promise<JsonPage<T>> {
    const all = await db.one<Aggregate>`
      select string_agg(q.json, E',\\n') as json, count(*)::int as count,
        (array_agg(q.place))[${shown}::int]::text as key, (array_agg(q.id))[${shown}::int] as id
      from (${this.fragment}) q`
    const text = all?.json ?? ''
    if (!all || all.count <= shown) return { rows: new JsonRows(this.#item, text), next: undefined }
    const rows = new JsonRows(this.#item, text.slice(0, text.lastIndexOf(',\n')))
    return { rows, next: { key: all.key, id: all.id } }
  }
}
export type { JsonSelect }

const at = (columns: unknown, path: readonly string[]) =>
  path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], columns)

/**
 * For lists of many rows of many columns, which cost more to read and to write again than to find. Declares that they are written as
 * `item` says, field by field: what it does not name is in no answer.
 */
export function rowsAsJson<S extends z.ZodObject>(item: S) {
  const { strings, gaps } = jsonTemplate(item)
  return (db: Db, columns: Columns<z.output<S>>, { place, id, from }: Source) => {
    const json = db.sql(strings, ...(gaps.map((path) => at(columns, path)) as never[]))
    const fragment = db.sql`select ${json} as json, ${place} as place, ${id} as id ${from}`
    return new JsonSelect<z.output<S>>(item as never, fragment)
  }
}
