import postgres, { type Sql } from 'postgres'
import type { Database } from '../../src/adapters/postgres.ts'
import type { Kernel } from '../../src/kernel/kernel.ts'

/** A fault of the kind that the walls are there against. */
export interface Plant {
  /** run on the database, by its superuser */
  database?: string
  kernel?: (made: Kernel) => Kernel
  /** a flaw that must be among those found */
  finds: RegExp
}

/** In front of the built-in one for whoever has `svc` before `pg_catalog` in their path: see {@link plantedPath}. */
const ownSetConfig = (body: string) => `
  create function svc.set_config(name text, value text, is_local boolean) returns text language plpgsql as $$
  begin
    if name <> 'app.scope' then return pg_catalog.set_config(name, value, is_local); end if;
    ${body}
  end $$;
  grant execute on function svc.set_config(text, text, boolean) to public`

/** Functions of the product's own schema win against built-in ones of the same name. */
export const plantedPath = 'svc,pg_catalog'

/** Whoever sends a statement and waits for another first is not told of its failure as of a fault. */
const heard = (own: Sql): Sql =>
  new Proxy(own, {
    get: (of, name) => {
      const value = Reflect.get(of, name) as unknown
      if (name !== 'unsafe') return value
      return (...args: Parameters<Sql['unsafe']>) => {
        const query = own.unsafe(...args)
        query.catch(() => undefined)
        return query
      }
    },
  })

/** Transactions as somebody writes them by hand: where no statement failed, but the handler refused, nothing is rolled back. */
function unfinished(pool: Sql): Sql {
  const begin = async (work: (sql: Sql) => Promise<unknown>) => {
    const own = await pool.reserve()
    try {
      await own`begin`
      const result = await work(heard(own))
      await own`commit`
      return result
    } catch (error) {
      if (error instanceof postgres.PostgresError) await own`rollback`
      throw error
    } finally {
      own.release()
    }
  }
  return new Proxy(pool, {
    get: (of, name) => (name === 'begin' ? begin : (Reflect.get(of, name) as unknown)),
  })
}

export const plants: Record<string, Plant> = {
  'the setting is the session’s instead of the transaction’s': {
    database: ownSetConfig('return pg_catalog.set_config(name, value, false);'),
    finds: /on a free connection: scope \{"partner".*, [1-9]\d* devices in sight/,
  },
  'a connection keeps the first setting that it was given': {
    database: ownSetConfig(`
      if coalesce(current_setting(name, true), '') <> '' then return current_setting(name, true); end if;
      return pg_catalog.set_config(name, value, false);`),
    finds: /^what the second wall alone lets through: shown to mark-\d{4}-kram: mark-\d{4}-kram/,
  },
  'a write that was refused is not rolled back': {
    kernel: (made) => ({ ...made, pool: unfinished(made.pool) as Database }),
    finds: /on a free connection: scope \{"partner".*, [1-9]\d* devices in sight/,
  },
}
