import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseForFile } from '../../test/harness/database.ts'
import { countingWire } from '../../test/harness/wire.ts'
import { openPool } from '../adapters/postgres.ts'
import { inTransaction, readerDb } from './db.ts'
import type { Db, Scope } from './tenancy.ts'
import { together } from './together.ts'

const { url } = await databaseForFile()
const owner = openPool({ url, max: 1, name: 'trips' })
const wire = await countingWire(url)
const pool = openPool({ url: wire.url, max: 1, name: 'trips' })
const system: Scope = { kind: 'system' }

beforeAll(async () => {
  await owner`create table svc.notes (text text not null check (text <> 'refused'))`
  await owner`grant select, insert on svc.notes to public`
})
afterAll(async () => {
  await pool.end({ timeout: 1 })
  wire.close()
  await owner.end()
})

const note = (db: Db, text: string) => db.later`insert into notes values (${text})`
const notes = async () => (await owner<{ text: string }[]>`select text from svc.notes`).map((row) => row.text)

/** Round trips of the second run: in the first, statements are prepared. */
async function trips(work: () => Promise<unknown>): Promise<number> {
  await work()
  const before = wire.trips()
  await work()
  return wire.trips() - before
}

test('a read costs one round trip', async () => {
  expect(await trips(() => readerDb(pool, system).one`select 1 as x`)).toBe(1)
})

test('a write costs one for each answer that it waits for, and one for all that it does not; the commit waits for the BEGIN', async () => {
  const write = (reads: number) => () =>
    inTransaction(pool, system, async (db) => {
      for (let n = 0; n < reads; n++) await db.one`select 1 as x`
      note(db, 'kept')
      note(db, 'kept')
    })
  expect([await trips(write(0)), await trips(write(1)), await trips(write(2))]).toEqual([2, 2, 3])
  expect(await notes()).toHaveLength(12)
})

test('what is asked together costs one', async () => {
  const write = () =>
    inTransaction(pool, system, (db) =>
      together(db.one`select 1 as x`, db.one`select 2 as x`, db.one`select 3 as x`),
    )
  expect(await trips(write)).toBe(2)
})

test('when one of these fails nothing stands, whatever was sent behind it, and its error is told', async () => {
  const before = await notes()
  const write = (more: (db: Db) => unknown) =>
    inTransaction(pool, system, async (db) => {
      note(db, 'before')
      note(db, 'refused')
      note(db, 'after')
      await more(db)
      return 'done'
    })
  for (const more of [() => undefined, (db: Db) => db.one`select 1 as x`]) {
    await expect(write(more)).rejects.toMatchObject({ code: '23514' })
  }
  // As an audit row fails: everything before it was answered, and the commit is on its way behind it.
  const last = inTransaction(pool, system, async (db) => {
    note(db, 'before')
    await db.one`select 1 as x`
    note(db, 'refused')
    return 'done'
  })
  await expect(last).rejects.toMatchObject({ code: '23514' })
  expect(await notes()).toEqual(before)
  expect(await readerDb(pool, system).one`select 1 as x`).toEqual({ x: 1 })
})

test('outside of a transaction there is nothing that it could travel with', () => {
  expect(() => note(readerDb(pool, system), 'lost')).toThrow('a write needs a transaction')
})
