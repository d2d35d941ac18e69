import type { Fragment, Sql, TransactionSql } from 'postgres'
import { exportTimeouts } from '../adapters/postgres.ts'
import { counted } from './pool-load.ts'
import { takeTurn } from './pool-turns.ts'
import { rowsAtMost } from './rows-at-most.ts'
import { living, scopeText, visible, visibleDevice, visibleGroup } from './scope.ts'
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
    visibleGroup: (alias, column = 'id') => visibleGroup(sql, scope, alias, column),
    living: (alias) => living(sql, scope, alias),
  }
}

/**
 * Reads outside a transaction: each statement brings its scope along and sets it for itself alone. A condition without
 * columns gates the whole plan: Postgres asks it before it fetches a row. A policy that was asked before would find no
 * scope, and let nothing through. Such statements cannot write.
 */
export function readerDb(pool: Sql, scope: Scope): Db {
  const setting = scopeText(scope)
  const sql = pieces(pool)
  const scoped = (query: Fragment) => sql`
    select q.* from (${query}) q where (select set_config('app.scope', ${setting}, true)) is not null`
  return makeDb(sql, scope, {
    read: (query) => takeTurn(pool, () => statement(pool, scoped(query))),
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
  const result = await counted(pool, (begun) =>
    pool.begin((sql) => {
      begun()
      const tx = { pool, sql, sent }
      return work(scopedDb(tx, scope), tx)
    }),
  )
  await Promise.all(sent)
  return result as T
}

/** A scope's view of one moment, and rows of it in batches. */
export interface Snapshot extends Db {
  /** Rows in batches of `size`, each fetched when it is asked for: what is not asked for yet is nowhere but in the database. */
  batches<T>(size: number, query: Fragment): AsyncGenerator<T[]>
}

/** One moment of the database, for as long as `work` reads it. Holds a connection: whoever waits for others in it says for how long. */
export async function inSnapshot<T>(pool: Sql, scope: Scope, work: (db: Snapshot) => Promise<T>): Promise<T> {
  const sent: Promise<unknown>[] = []
  const result = await counted(pool, (begun) =>
    pool.begin('isolation level repeatable read read only', async (sql) => {
      begun()
      const db = scopedDb({ pool, sql, sent }, scope)
      db.later`select set_config('statement_timeout', ${String(exportTimeouts.statement)}, true),
        set_config('idle_in_transaction_session_timeout', ${String(exportTimeouts.idleInTransaction)}, true)`
      async function* batches<Row>(size: number, query: Fragment) {
        await db.run`declare batch no scroll cursor for ${query}`
        for (let full = true; full; ) {
          const rows = await sql.unsafe(`fetch ${size} from batch`)
          if (rows.length > 0) yield [...rows] as unknown as Row[]
          full = rows.length === size
        }
        await sql.unsafe('close batch')
      }
      return work({ ...db, batches })
    }),
  )
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
