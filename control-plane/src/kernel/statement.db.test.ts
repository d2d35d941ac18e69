import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fragment } from 'postgres'
import { testApp } from '../../test/harness/app.ts'
import { type Database, openPool } from '../adapters/postgres.ts'
import { pieces, query, template } from './statement.ts'

const { url } = await testApp()
let pool: Database
let sql: Database
beforeAll(() => {
  pool = openPool({ url, role: 'svc_app', max: 1, name: 'statements' })
  sql = pieces(pool)
})
afterAll(() => pool.end())

/** What was sent: the text and its parameters. */
async function sent(made: Fragment) {
  const pending = query(pool, made)
  const rows = [...(await pending)]
  const { statement } = (await pending) as unknown as { statement: { string: string } }
  return { rows, text: statement.string }
}

describe('a statement of pieces', () => {
  test('numbers its parameters in the order of reading, however deep they stand', async () => {
    const inner = (n: number) => sql`${n}::int + ${sql`${n + 1}::int`}`
    const made = await sent(sql`select ${1}::int as a, ${inner(2)} as b, ${4}::int as c`)
    expect(made).toEqual({
      text: 'select $1::int as a, $2::int + $3::int as b, $4::int as c',
      rows: [{ a: 1, b: 5, c: 4 }],
    })
  })

  test('is another one where the same gaps hold a piece instead of a parameter', async () => {
    const filled = (a: unknown, b: unknown) => sql`select ${a as never} as a, ${b as never} as b`
    const piece = () => sql`'piece'` // one template: only its place tells the two apart
    const first = await sent(filled(piece(), 'text'))
    const second = await sent(filled('text', piece()))
    const third = await sent(filled(sql`'other'`, 'text'))
    expect([first, second, third].map(({ text }) => text)).toEqual([
      `select 'piece' as a, $1 as b`,
      `select $1 as a, 'piece' as b`,
      `select 'other' as a, $1 as b`,
    ])
    expect(second.rows).toEqual([{ a: 'text', b: 'piece' }])
  })

  test('is the same one for other parameters: nothing that came from outside is ever in its text', async () => {
    const of = (name: string) => sent(sql`select ${name}::text as name`)
    const [one, other] = [await of('a'), await of(`'; drop table devices; --`)]
    expect(other.text).toBe(one.text)
    expect(other.rows).toEqual([{ name: `'; drop table devices; --` }])
  })

  test('quotes names, in snake_case, and takes arrays, JSON and texts made beforehand', async () => {
    const made = await sent(sql`
      select ${sql('x')}.${sql('someName')} as ${sql('a"b')}, ${['a', 'b']}::text[] as list, ${sql.json({ k: [1] })} as json
      from (select 1 as some_name) x limit ${sql(template('5'))}`)
    expect(made.text).toContain('"x"."some_name" as "a""b"')
    expect(made.text).toContain('limit 5')
    expect(made.rows).toEqual([{ 'a"b': 1, list: ['a', 'b'], json: { k: [1] } }])
  })

  test('takes no fragment that it did not make, and no list of them', () => {
    expect(() => query(pool, sql`select 1 ${pool`where true`}`)).toThrow(
      'a fragment that db.sql did not make',
    )
    expect(() => query(pool, sql`select 1 ${[sql`where true`] as never}`)).toThrow('or a list of them')
  })

  test('with a gap that was left empty is refused', async () => {
    await expect(query(pool, sql`select ${undefined as never}::text`)).rejects.toThrow('Undefined values')
  })
})
