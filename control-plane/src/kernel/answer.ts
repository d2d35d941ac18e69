import { inLog } from '@svc/proto/trace'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOpen } from './access.ts'
import { writeRefusals } from './audit.ts'
import { Call } from './call.ts'
import { inSnapshot, inTransaction, readerDb } from './db.ts'
import { auditDenial } from './denial.ts'
import { type Download, sendDownload } from './download.ts'
import { fromBody, scopeFor, stillSeen, subjectOf } from './entry.ts'
import { ApiError } from './errors.ts'
import { type Kernel, type Mounted, poolOf } from './kernel.ts'
import { noAnswer, type Outcome, requireFound, send } from './outcome.ts'
import { take } from './points.ts'
import { tellChange, tellRefusals } from './security.ts'
import { patience, sendOutflow } from './stream.ts'
import { type Input, validate } from './validate.ts'
import { audit, write } from './write.ts'

/** What a request that was let in comes to: looked at whole, counted, done, told of, and sent. */
export async function answer(mounted: Mounted, request: FastifyRequest, reply: FastifyReply) {
  const { kernel, route } = mounted
  const input = validate(route, request)
  if (route.limit) {
    const subject = { ...subjectOf(request), ...fromBody(input.body) }
    await take(kernel.ports.limits, route, 'late', subject, request.taken)
  }
  const call = new Call(request, reply, {
    scope: scopeFor(route, request.caller),
    ports: kernel.ports,
    open: isOpen(route.can),
    still: () => stillSeen(mounted, request),
  })
  try {
    if (route.stream) return await flow(mounted, call, input, request, reply)
    const outcome = route.transaction
      ? await write(mounted, call, input, request)
      : await read(mounted, call, input)
    if (!outcome.repeated) tellOfWrite(mounted, call)
    startEffects(kernel, call, request)
    call.decorate(reply)
    if (outcome.download) return await sendDownload(request, reply, outcome.download)
    if (outcome.redirect !== undefined)
      return reply.sent ? reply : reply.redirect(outcome.redirect, outcome.status)
    return await send(reply, outcome)
  } catch (error) {
    await auditDenial(kernel, route, request, reply, error)
    throw error
  } finally {
    // A guess counts as one even if it cannot be written down, and so answers something else.
    if (call.refusals.length > 0) request.taken = []
    tellRefusals(kernel.security, call.refusals, call.client)
    await writeRefusals(poolOf(mounted), call.refusals, call.client, kernel.ports.clock.now())
  }
}

/** Reads, and writes that keep their own transactions: outside of any. */
async function read(mounted: Mounted, call: Call, input: Input): Promise<Outcome> {
  const { route, text } = mounted
  const ctx = call.context(input, readerDb(poolOf(mounted), call.scope))
  const prepared = await route.prepare?.(ctx)
  const value = await route.run(ctx, prepared as never)
  requireFound(route, value)
  if (route.download) return { status: route.status, text: noAnswer, download: value as Download }
  const result = route.answer ? await route.answer(ctx, value as never) : value
  requireFound(route, result)
  return { status: route.status, text: text(result) }
}

/** Rows of one snapshot, as their reader takes them. That it was asked for is written down, and committed, before the first leaves. */
function flow(
  { kernel, route }: Mounted,
  call: Call,
  input: Input,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  return inSnapshot(kernel.pool, call.scope, async (db) => {
    const outflow = await route.stream?.(call.context(input, db), db as never)
    if (!outflow) throw new ApiError('NOT_FOUND', 'not found')
    call.subject = outflow.subject
    await inTransaction(kernel.pool, call.scope, async (own) => audit({ kernel, route }, call, own))
    await sendOutflow(request, reply, outflow, kernel.patience ?? patience)
    return reply
  })
}

/** What a committed write means for access is told as well as audited. */
function tellOfWrite({ kernel, route }: Mounted, { subject, caller, client }: Call): void {
  if (typeof route.audit !== 'string' || subject === 'none') return
  const { action = route.audit, actor = caller.actor } = subject
  tellChange(kernel.security, { action, actor, subject, client })
}

/** Best effort, after the commit: nobody waits for them, and their failure is only logged. */
function startEffects(kernel: Kernel, call: Call, request: FastifyRequest) {
  for (const effect of call.effects) {
    const work = Promise.resolve()
      .then(effect)
      .catch((error: unknown) =>
        request.log.warn({ err: error, ...inLog(request.trace) }, 'an effect after the commit failed'),
      )
    kernel.background(work)
  }
}
