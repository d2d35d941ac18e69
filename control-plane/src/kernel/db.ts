import type { Fragment, Sql, TransactionSql } from 'postgres'
import { scopeText, visible, visibleDevice } from './scope.ts'
import type { Db, Scope } from './tenancy.ts'

type Execute = (query: Fragment) => PromiseLike<readonly unknown[] & { count: number }>

/** `sql` for fragments, whatever the connection: postgres.js types a parameter more narrowly than it takes it. */
const fragment = (sql: Sql, query: TemplateStringsArray, values: readonly unknown[]) =>
  (sql as unknown as (strings: TemplateStringsArray, ...values: readonly unknown[]) => Fragment)(
    query,
    ...values,
  )

function makeDb(sql: Sql, scope: Scope, execute: Execute, run: Execute): Db {
  return {
    scope,
    sql,
    rows: async <T>(query: TemplateStringsArray, ...values: readonly unknown[]) => [
      ...((await execute(fragment(sql, query, values))) as readonly T[]),
    ],
    one: async <T>(query: TemplateStringsArray, ...values: readonly unknown[]) =>
      (await execute(fragment(sql, query, values)))[0] as T | undefined,
    run: async (query, ...values) => (await run(fragment(sql, query, values))).count,
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
  return makeDb(
    pool,
    scope,
    (query) => pool`
      with scope as materialized (select set_config('app.scope', ${setting}, true) as s)
      select q.* from scope, lateral (select * from (${query}) z where scope.s is not null offset 0) q`,
    () => Promise.reject(new Error('a write needs a transaction')),
  )
}

/** Inside a transaction whose scope {@link setScope} has set: statements as they are. */
export function transactionDb(tx: TransactionSql, scope: Scope): Db {
  const execute: Execute = (query) => query as unknown as ReturnType<Execute>
  return makeDb(tx as unknown as Sql, scope, execute, execute)
}

/** Sets the scope of the rest of this transaction. */
export async function setScope(tx: TransactionSql, scope: Scope): Promise<void> {
  await tx`select set_config('app.scope', ${scopeText(scope)}, true)`
}

/** One transaction in one scope. What `work` throws rolls it back. */
export function inTransaction<T>(
  pool: Sql,
  scope: Scope,
  work: (db: Db, tx: TransactionSql) => Promise<T>,
): Promise<T> {
  return pool.begin(async (tx) => {
    // Not awaited apart: it travels with the first statement, on the same connection and before it.
    const scoped = setScope(tx, scope)
    const [result] = await Promise.all([work(transactionDb(tx, scope), tx), scoped])
    return result
  }) as Promise<T>
}

/** What background work sees: reads like an API reader's, and transactions, in a scope that each job states. */
export interface WorkerDb extends Db {
  tx<T>(work: (db: Db) => Promise<T>): Promise<T>
}

/** For jobs: `scope` is said by whoever starts one; `system` is for inbox, relay and sweep alone. */
export function workerDb(pool: Sql, scope: Scope): WorkerDb {
  return { ...readerDb(pool, scope), tx: (work) => inTransaction(pool, scope, (db) => work(db)) }
}
