import type { Bus } from '@svc/proto/bus'
import { isLoopBlocked } from '@svc/proto/loop'
import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'

/** What may be wrong, by the name under which it is told (docs/operations.md#readiness). */
export type Flaw = 'draining' | 'postgres' | 'migrations' | 'event_loop' | 'database_pool' | 'redis'

/**
 * With these it serves all the same, only slower, or not everybody: where connections are short they are so everywhere, and people must get
 * in still.
 */
const bearable: ReadonlySet<Flaw> = new Set(['redis', 'database_pool'])

/** What is wrong with a part, or `ok`. */
export interface Readiness {
  /** `degraded`: works, but slower (no bus: hints are lost, promises are not); `unready`: send requests elsewhere */
  status: 'ready' | 'degraded' | 'unready'
  /** what is wrong, by name; empty when `ready` */
  failing: readonly Flaw[]
  parts: { postgres: string; migrations: string; bus: string }
}

export interface ReadinessDeps {
  sql: Sql
  bus: Bus
  /** what is wrong with the schema, or undefined */
  schema: () => Promise<string | undefined>
  draining: () => boolean
  /** requests find no connection to the database */
  jammed: () => boolean
}

/** A balancer asks every few seconds; a database that answers slower than this does not serve. */
const answerWithinMs = 2_000

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Why it failed, without addresses or users. */
const reason = (error: unknown) => {
  const { code, message } = error as { code?: string; message: string }
  return code ?? message
}

async function checkPostgres(sql: Sql): Promise<string> {
  return within(Promise.resolve(sql`select 1`), answerWithinMs).then(() => 'ok', reason)
}

/** Asks every part. Never rejects. */
export async function readiness({ sql, bus, schema, draining, jammed }: ReadinessDeps): Promise<Readiness> {
  const postgres = await checkPostgres(sql)
  const migrations =
    postgres === 'ok'
      ? await within(schema(), answerWithinMs).then((flaw) => flaw ?? 'ok', reason)
      : 'unknown'
  const parts = { postgres, migrations, bus: bus.up ? 'ok' : 'down' }
  const flaws: Record<Flaw, boolean> = {
    draining: draining(),
    postgres: postgres !== 'ok',
    // Of a database that does not answer nobody knows.
    migrations: postgres === 'ok' && migrations !== 'ok',
    event_loop: isLoopBlocked(),
    database_pool: jammed(),
    redis: !bus.up,
  }
  const failing = (Object.keys(flaws) as Flaw[]).filter((flaw) => flaws[flaw])
  const unready = failing.some((flaw) => !bearable.has(flaw))
  return { status: unready ? 'unready' : failing.length > 0 ? 'degraded' : 'ready', failing, parts }
}

/** `GET /health` for anyone (interface §Health), `GET /health/ready` for balancers. */
export function healthRoutes(app: FastifyInstance, version: string, ready: () => Promise<Readiness>): void {
  app.get('/health', async () => ({ status: 'ok', version }))
  app.get('/health/ready', async (_request, reply) => {
    const state = await ready()
    return reply.code(state.status === 'unready' ? 503 : 200).send(state)
  })
}
