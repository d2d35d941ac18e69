import type { Fragment, Sql, TransactionSql } from 'postgres'
import { rowsAtMost } from './rows-at-most.ts'
import { scopeText, visible, visibleDevice } from './scope.ts'
import { pieces, query as statement } from './statement.ts'
import type { Db, Scope } from './tenancy.ts'

type Execute = (query: Fragment) => PromiseLike<readonly unknown[] & { count: number }>

/** `sql` for fragments: postgres.js types a parameter more narrowly than it takes it. */
const fragment = (sql: Sql, query: TemplateStringsArray, values: readonly unknown[]) =>
  (sql as unknown as (strings: TemplateStringsArray, ...values: readonly unknown[]) => Fragment)(
    query,
    ...values,
  )

interface Executes {
  read: Execute
  run: Execute
  later: (query: Fragment) => void
}

function makeDb(sql: Sql, scope: Scope, { read, run, later }: Executes): Db {
  return {
    scope,
    sql,
    rows: async <T>(query: TemplateStringsArray, ...values: readonly unknown[]) => [
      ...((await read(fragment(sql, query, values))) as readonly T[]),
    ],
    one: async <T>(query: TemplateStringsArray, ...values: readonly unknown[]) =>
      (await read(fragment(sql, query, values)))[0] as T | undefined,
    run: async (query, ...values) => (await run(fragment(sql, query, values))).count,
    later: (query, ...values) => later(fragment(sql, query, values)),
    atMost: (rows) => rowsAtMost(sql, rows),
    visible: (alias) => visible(sql, scope, alias),
    visibleDevice: (alias, column = 'id') => visibleDevice(sql, scope, alias, column),
  }
}

/**
 * Reads outside a transaction: each statement brings its scope along and sets it for itself alone. The fence
 * `offset 0` keeps the planner from reading the setting before it is set. Such statements cannot write.
 */
export function readerDb(pool: Sql, scope: Scope): Db {
  const setting = scopeText(scope)
  const sql = pieces(pool)
  const scoped = (query: Fragment) => sql`
    with scope as materialized (select set_config('app.scope', ${setting}, true) as s)
    select q.* from scope, lateral (select * from (${query}) z where scope.s is not null offset 0) q`
  return makeDb(sql, scope, {
    read: (query) => statement(pool, scoped(query)),
    run: () => Promise.reject(noTransaction()),
    later: () => {
      throw noTransaction()
    },
  })
}

const noTransaction = () => new Error('a write needs a transaction')

/** An open transaction, and what was sent in it without waiting for the outcome. */
export interface Transaction {
  pool: Sql
  sql: TransactionSql
  sent: Promise<unknown>[]
}

/** Sets the scope of the rest of this transaction, as of the statements that the returned `Db` sends: as they are. */
export function scopedDb({ pool, sql, sent }: Transaction, scope: Scope): Db {
  const read: Execute = (query) => statement(sql as unknown as Sql, query)
  const later = (query: Fragment) => void sent.push(statement(sql as unknown as Sql, query).execute())
  const db = makeDb(pieces(pool), scope, { read, run: read, later })
  db.later`select set_config('app.scope', ${scopeText(scope)}, true)`
  return db
}

/**
 * One transaction in one scope. What `work` throws rolls it back. When this resolves it is committed: Postgres makes a rollback of a
 * commit behind a statement that failed, and that statement's error is thrown here.
 */
export async function inTransaction<T>(
  pool: Sql,
  scope: Scope,
  work: (db: Db, tx: Transaction) => Promise<T>,
): Promise<T> {
  const sent: Promise<unknown>[] = []
  const result = await pool.begin((sql) => {
    const tx = { pool, sql, sent }
    return work(scopedDb(tx, scope), tx)
  })
  await Promise.all(sent)
  return result as T
}

/** What background work sees: reads like an API reader's, and transactions, in a scope that each job states. */
export interface WorkerDb extends Db {
  tx<T>(work: (db: Db) => Promise<T>): Promise<T>
}

/** For jobs: `scope` is said by whoever starts one; `system` is for inbox, relay and sweep alone. */
export function workerDb(pool: Sql, scope: Scope): WorkerDb {
  return { ...readerDb(pool, scope), tx: (work) => inTransaction(pool, scope, (db) => work(db)) }
}
