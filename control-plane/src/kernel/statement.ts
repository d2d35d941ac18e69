import type { Fragment, PendingQuery, Row, Sql } from 'postgres'

/** A template and what goes into its gaps: parameters, and other pieces. The driver's own are promises, and dear: a statement has twenty. */
class Piece {
  readonly strings: TemplateStringsArray
  readonly values: readonly unknown[]

  constructor(strings: TemplateStringsArray, values: readonly unknown[]) {
    this.strings = strings
    this.values = values
  }
}

/** @param parts what stands before, between and behind the gaps: made once, as it is known again by its identity */
export const template = (...parts: string[]): TemplateStringsArray => Object.assign(parts, { raw: parts })

const piece = (strings: TemplateStringsArray, values: readonly unknown[] = []) =>
  new Piece(strings, values) as unknown as Fragment

/** In a path of templates: a gap with a parameter in it. */
const parameter = Symbol('parameter')

/** Statements by their templates in the order of reading; the text is that of the path up to here. */
interface Shape {
  next: Map<TemplateStringsArray | typeof parameter, Shape>
  text?: string
}

const shape = (): Shape => ({ next: new Map() })

/** Far more than there are statements in the source with all their filters; beyond it all are put together anew. */
const maxShapes = 50_000
let root = shape()
let shapes = 0

function step(at: Shape, key: TemplateStringsArray | typeof parameter): Shape {
  const known = at.next.get(key)
  if (known) return known
  const made = shape()
  at.next.set(key, made)
  shapes += 1
  return made
}

/** The driver's own are promises. As parameters they would be nonsense. */
const isFragment = (value: unknown) =>
  value instanceof Promise || (Array.isArray(value) && value[0] instanceof Piece)

function follow({ strings, values }: Piece, from: Shape, parameters: unknown[]): Shape {
  let at = step(from, strings)
  for (const value of values) {
    if (value instanceof Piece) at = follow(value, at, parameters)
    else {
      if (isFragment(value)) throw new Error('a fragment that db.sql did not make, or a list of them')
      parameters.push(value)
      at = step(at, parameter)
    }
  }
  return at
}

/** @param used parameters that stand before it */
function textOf({ strings, values }: Piece, used = { count: 0 }): string {
  const gap = (value: unknown) => (value instanceof Piece ? textOf(value, used) : `$${++used.count}`)
  return strings.reduce((text, part, at) => text + gap(values[at - 1]) + part)
}

/** What {@link pieces} made, on a connection of `sql`: text that stands in the source alone, and its parameters. Sent once awaited. */
export function query(sql: Sql, made: Fragment): PendingQuery<Row[]> {
  if (shapes > maxShapes) [root, shapes] = [shape(), 0]
  const statement = made as unknown as Piece
  const parameters: unknown[] = []
  const end = follow(statement, root, parameters)
  end.text ??= textOf(statement)
  return sql.unsafe(end.text, parameters as never[], { prepare: true, simple: false } as { prepare: true })
}

const known = new WeakMap<Sql, Sql>()

/**
 * The driver's `sql` with templates and names that are put together here: the text of a statement once for each way to put it together, instead of
 * from all its fragments each time. Executes nothing: {@link query} does.
 */
export function pieces(pool: Sql): Sql {
  const made = known.get(pool)
  if (made) return made
  const names = new Map<string, TemplateStringsArray>()
  const named = (name: string) => {
    const strings = names.get(name) ?? template((pool(name) as unknown as { value: string }).value)
    names.set(name, strings)
    return piece(strings)
  }
  const sql = (first: TemplateStringsArray | string, ...values: unknown[]) =>
    typeof first === 'string' ? named(first) : piece(first, values)
  Object.setPrototypeOf(sql, pool)
  known.set(pool, sql as unknown as Sql)
  return sql as unknown as Sql
}
