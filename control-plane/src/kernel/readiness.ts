import type { Bus } from '@svc/proto/bus'
import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'

/** What is wrong with a part, or `ok`. */
export interface Readiness {
  /** `degraded`: works, but slower (no bus: hints are lost, promises are not); `unready`: send requests elsewhere */
  status: 'ready' | 'degraded' | 'unready'
  parts: { postgres: string; migrations: string; bus: string }
}

export interface ReadinessDeps {
  sql: Sql
  bus: Bus
  /** what is wrong with the schema, or undefined */
  schema: () => Promise<string | undefined>
  draining: () => boolean
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
export async function readiness({ sql, bus, schema, draining }: ReadinessDeps): Promise<Readiness> {
  const postgres = await checkPostgres(sql)
  const migrations =
    postgres === 'ok'
      ? await within(schema(), answerWithinMs).then((flaw) => flaw ?? 'ok', reason)
      : 'unknown'
  const parts = { postgres, migrations, bus: bus.up ? 'ok' : 'down' }
  if (draining() || postgres !== 'ok' || migrations !== 'ok') return { status: 'unready', parts }
  return { status: bus.up ? 'ready' : 'degraded', parts }
}

/** `GET /health` for anyone (interface §Health), `GET /health/ready` for balancers. */
export function healthRoutes(app: FastifyInstance, version: string, ready: () => Promise<Readiness>): void {
  app.get('/health', async () => ({ status: 'ok', version }))
  app.get('/health/ready', async (_request, reply) => {
    const state = await ready()
    return reply.code(state.status === 'unready' ? 503 : 200).send(state)
  })
}
