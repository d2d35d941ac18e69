import type { FastifyRequest } from 'fastify'
import { writeAudit } from './audit.ts'
import type { Call } from './call.ts'
import { inTransaction, readerDb } from './db.ts'
import { claim, type IdempotentRequest, idempotentRequest, remember, type Remembered } from './idempotency.ts'
import { type Mounted, poolOf } from './kernel.ts'
import { noAnswer, type Outcome, requireFound } from './outcome.ts'
import type { Redirect } from './route.ts'
import type { Db, Scope } from './tenancy.ts'
import type { Input } from './validate.ts'

/** Prepared outside of a transaction, done in one, answered after it. */
export async function write(
  mounted: Mounted,
  call: Call,
  input: Input,
  request: FastifyRequest,
): Promise<Outcome> {
  const { route, text } = mounted
  const reader = readerDb(poolOf(mounted), call.scope)
  const prepared = await route.prepare?.(call.context(input, reader))
  const key = request.headers['idempotency-key']
  const idempotent = idempotentRequest(route, call.caller, call.scope, {
    key: Array.isArray(key) ? key[0] : key,
    url: request.url,
    body: input.body,
  })
  const done = await commit(mounted, call, input, prepared, idempotent, request)
  if (!route.answer) return done.outcome
  const value = done.outcome.repeated ? JSON.parse(done.outcome.text) : done.value
  const result = await route.answer(call.context(input, reader), value as never)
  requireFound(route, result)
  return { ...done.outcome, text: text(result) }
}

/** A transaction, which is a span where the request is one: from its wish for a connection to its end. */
async function seen<T>(
  mounted: Mounted,
  { span: parent }: FastifyRequest,
  scope: Scope,
  work: Parameters<typeof inTransaction<T>>[2],
): Promise<T> {
  const pool = poolOf(mounted)
  if (!parent) return inTransaction(pool, scope, work)
  const { tracing } = mounted.kernel
  const span = tracing.start('database transaction', 'client', { parent: parent.trace })
  const asked = performance.now()
  let waited = 0
  const begun: typeof work = (db, tx) => {
    waited = performance.now() - asked
    return work(db, tx)
  }
  try {
    const done = await inTransaction(pool, scope, begun)
    span.end({ 'svc.pool_wait_ms': waited })
    return done
  } catch (error) {
    span.end({ 'svc.pool_wait_ms': waited }, 'rolled back')
    throw error
  }
}

interface Done {
  outcome: Outcome
  value: unknown
}

/** One transaction: the key is claimed, the handler runs, its audit row and its answer are written. */
function commit(
  mounted: Mounted,
  call: Call,
  input: Input,
  prepared: unknown,
  key: IdempotentRequest | undefined,
  request: FastifyRequest,
): Promise<Done> {
  const { kernel, route } = mounted
  return seen(mounted, request, call.scope, async (db, tx) => {
    const earlier = key && (await claim(db, key, kernel.sealKeys))
    if (earlier) return { value: undefined, outcome: { ...earlier, repeated: true } }
    const value = await route.run(call.context(input, db, tx), prepared as never)
    requireFound(route, value)
    audit(mounted, call, db)
    if (route.redirect) {
      return { value, outcome: { status: route.status, text: noAnswer, redirect: (value as Redirect).to } }
    }
    // With `answer`, what is remembered is what it is given, so that a repetition waits as the first did.
    const outcome: Remembered = {
      status: route.status,
      text: route.answer ? JSON.stringify(value) : mounted.text(value),
    }
    if (key) remember(db, key, outcome, route.idempotent === 'sealed' ? kernel.sealKeys : undefined)
    return { value, outcome }
  })
}

/** That it was done, by whom and to what, in the transaction that does it. */
export function audit({ kernel, route }: Pick<Mounted, 'kernel' | 'route'>, call: Call, db: Db) {
  if (typeof route.audit !== 'string' || call.subject === 'none') return
  writeAudit(db, {
    action: call.subject.action ?? route.audit,
    result: 'success',
    actor: call.subject.actor ?? call.caller.actor,
    subject: call.subject,
    client: call.client,
    scope: call.scope,
    at: kernel.ports.clock.now(),
  })
}
