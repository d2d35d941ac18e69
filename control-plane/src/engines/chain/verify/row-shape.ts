import type { Sql, TransactionSql } from 'postgres'

export type Asked = Sql | TransactionSql

interface Column {
  name: string
  type: string
}

/** A column that this version does not know how to check. */
export class UnknownColumn extends Error {
  override name = 'UnknownColumn'
}

/** How a column is read, as text, and whether that is JSON already. */
const readings: Record<string, { read: (column: string) => string; json: boolean }> = {
  text: { read: (column) => column, json: false },
  uuid: { read: (column) => column, json: false },
  inet: { read: (column) => column, json: false },
  jsonb: { read: (column) => `${column}::text`, json: true },
  // Any time that somebody may have put there has a text: infinity, and what is beyond a bigint.
  'timestamp with time zone': {
    read: (column) => `trunc(extract(epoch from ${column}) * 1000000)::text`,
    json: true,
  },
}

/** The order of names in jsonb: shorter ones first, then by bytes. */
const inOrder = (a: Column, b: Column) => {
  const [left, right] = [Buffer.from(a.name), Buffer.from(b.name)]
  return left.length - right.length || left.compare(right)
}

/** Values of a row of the audit log, in the order of {@link RowShape}; null where there is none. */
export type RowValues = readonly (string | null)[]

/**
 * What a row of the audit log is made of, and the bytes of it that were sealed (docs/decisions/0030). Nothing here is shared with what
 * seals, which is SQL.
 */
export class RowShape {
  /** What to select of `a`, one value after the other. */
  readonly selected: readonly string[]
  readonly #members: readonly { prefix: string; json: boolean }[]
  readonly #places: ReadonlyMap<string, number>

  constructor(columns: readonly Column[]) {
    const ordered = [...columns].sort(inOrder)
    const read = ordered.map(({ name, type }) => {
      const reading = readings[type]
      if (!reading || (type === 'timestamp with time zone' && name !== 'at'))
        throw new UnknownColumn(`audit_log.${name} is a ${type}: this version cannot check it`)
      return { text: reading.read(`a.${JSON.stringify(name)}`), json: reading.json }
    })
    this.selected = read.map(({ text }) => text)
    this.#members = ordered.map(({ name }, at) => ({
      prefix: `${JSON.stringify(name)}: `,
      json: read[at]?.json === true,
    }))
    this.#places = new Map(ordered.map(({ name }, at) => [name, at]))
  }

  static async read(sql: Asked): Promise<RowShape> {
    const columns = await sql<Column[]>`
      select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = 'svc.audit_log'::regclass and attnum > 0 and not attisdropped`
    return new RowShape(columns)
  }

  /** The bytes that are sealed, as text: the members that are not null. */
  text(values: RowValues): string {
    let text = ''
    for (const [at, { prefix, json }] of this.#members.entries()) {
      const value = values[at]
      if (value == null || (json && value === 'null')) continue
      text += `${text === '' ? '' : ', '}${prefix}${json ? value : JSON.stringify(value)}`
    }
    return `{${text}}`
  }

  valueOf(values: RowValues, name: string): string | null {
    return values[this.#places.get(name) ?? -1] ?? null
  }

  /** The same row under another value of one column. */
  with(values: RowValues, name: string, value: string): RowValues {
    return values.with(this.#places.get(name) ?? -1, value)
  }
}
