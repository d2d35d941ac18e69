import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from 'postgres'
import { authorize, isOpen } from './access.ts'
import { clientAddress } from './address.ts'
import { writeAudit, writeRefusals } from './audit.ts'
import { Call } from './call.ts'
import { type Identify, nobody } from './caller.ts'
import type { Caller } from './context.ts'
import { inTransaction, readerDb } from './db.ts'
import { answerWithinMs, withDeadline } from './deadline.ts'
import { auditDenial } from './denial.ts'
import { type Download, downloadTimeoutMs, sendDownload } from './download.ts'
import { ApiError } from './errors.ts'
import { claim, type IdempotentRequest, idempotentRequest, remember, type Remembered } from './idempotency.ts'
import { admitKey } from './key-gate.ts'
import type { KeyUses } from './key-uses.ts'
import { settle, take, type Taken } from './points.ts'
import type { Ports } from './ports.ts'
import type { Route } from './route.ts'
import { serializer } from './serialize.ts'
import type { Db, Scope } from './tenancy.ts'
import { validate } from './validate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    taken: Taken[]
  }
}

/** What mounting needs beside what handlers get. */
export interface Kernel {
  ports: Ports
  /** of svc_app */
  pool: Sql
  identify: Identify
  /** uses of API keys, to be written down later */
  keyUses: Pick<KeyUses, 'add' | 'flush'>
  /** under which once-shown answers are sealed */
  sealKey: Buffer
  /** told of what happens after the answer is decided, so that closing can wait for it */
  background(work: Promise<unknown>): void
}

type Input = ReturnType<typeof validate>

/** A route with its serializer, compiled once. */
interface Mounted {
  kernel: Kernel
  route: Route
  text: (value: unknown) => string
}

/** What a handler came to. */
interface Outcome {
  status: number
  text: string
  /** the answer to an earlier request with the same Idempotency-Key */
  repeated?: true
  /** bytes instead of text */
  download?: Download
}

const noAnswer = ''

/** A path that ends with a slash is the same without it: `/orgs/` is what people write `/orgs`. */
export const pathsOf = (path: string): string[] => (path.endsWith('/') ? [path, path.slice(0, -1)] : [path])

/** Every endpoint goes through these steps, in this order; `mount` is their list. */
export function mount(app: FastifyInstance, kernel: Kernel, route: Route, prefix: string): void {
  for (const path of pathsOf(route.path)) mountAt(app, kernel, route, prefix + path)
}

function mountAt(app: FastifyInstance, kernel: Kernel, route: Route, url: string): void {
  const mounted: Mounted = { kernel, route, text: route.returns ? serializer(route.returns) : () => noAnswer }
  app.route({
    method: route.method,
    url,
    exposeHeadRoute: route.method === 'GET' && !route.writes,
    ...(route.download && { handlerTimeout: downloadTimeoutMs }),
    onRequest: async (request, reply) => {
      await identifyCaller(mounted, request)
      await auditingDenials(mounted, request, reply, async () => {
        await admitKey(kernel.ports, kernel.keyUses, request, reply)
        if (route.limit) await takePoints(mounted, request)
        authorize(route, request.caller, kernel.ports.clock.now(), kernel.ports.config.enable2fa)
      })
    },
    ...(route.limit && {
      onSend: async (request, reply) => settle(kernel.ports.limits, request.taken ?? [], reply.statusCode),
    }),
    handler: route.download
      ? (request, reply) => answer(mounted, request, reply)
      : (request, reply) => withDeadline(reply, answerWithinMs, () => answer(mounted, request, reply)),
  })
}

/** An open route may be called with a token, and one that is no good is as none there; API keys are not even looked at. */
async function identifyCaller({ kernel, route }: Mounted, request: FastifyRequest) {
  const { headers, ip, socket } = request
  const apiKey = headers['x-api-key']
  const open = isOpen(route.can)
  const credential = {
    authorization: headers.authorization,
    apiKey: open ? undefined : Array.isArray(apiKey) ? apiKey[0] : apiKey,
    ip: clientAddress(ip, socket.remoteAddress),
  }
  request.caller = await kernel.identify(credential).catch((error: unknown) => {
    if (open && error instanceof ApiError && error.code === 'UNAUTHENTICATED') return nobody
    throw error
  })
}

/** Limits that count by what is known before the body is read. */
async function takePoints({ kernel, route }: Mounted, request: FastifyRequest) {
  request.taken = []
  await take(kernel.ports.limits, route, 'early', subjectOf(request), request.taken)
}

/** What is refused to somebody known leaves a row, wherever it is refused. */
async function auditingDenials<T>(
  { kernel, route }: Mounted,
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await auditDenial(kernel, route, request, reply, error)
    throw error
  }
}

async function answer(mounted: Mounted, request: FastifyRequest, reply: FastifyReply) {
  const { kernel, route } = mounted
  const input = validate(route, request)
  if (route.limit) {
    const subject = { ...subjectOf(request), ...fromBody(input.body) }
    await take(kernel.ports.limits, route, 'late', subject, request.taken)
  }
  const call = new Call(request, reply, scopeFor(route, request.caller), kernel.ports, isOpen(route.can))
  try {
    const outcome = route.transaction
      ? await write(mounted, call, input, request)
      : await read(mounted, call, input)
    startEffects(kernel, call, request)
    call.decorate(reply)
    if (outcome.download) return await sendDownload(request, reply, outcome.download)
    return await send(reply, outcome)
  } catch (error) {
    await auditDenial(kernel, route, request, reply, error)
    throw error
  } finally {
    // A guess counts as one even if it cannot be written down, and so answers something else.
    if (call.refusals.length > 0) request.taken = []
    await writeRefusals(kernel.pool, call.refusals, call.client, kernel.ports.clock.now())
  }
}

const subjectOf = ({ ip, socket, caller }: FastifyRequest) => ({
  ip: clientAddress(ip, socket.remoteAddress),
  ...(caller.actor.type === 'user' && { user: caller.actor.id }),
})

/** The parts of a body that limits count by. */
function fromBody(body: unknown) {
  const { email, tempToken, phoneNumber } = (body ?? {}) as Record<string, unknown>
  return {
    ...(typeof email === 'string' && { email }),
    ...(typeof tempToken === 'string' && { token: tempToken }),
    ...(typeof phoneNumber === 'string' && { phone: phoneNumber }),
  }
}

/**
 * The platform administrator sees everything on the routes that are theirs, and on no other. Where an enrollment key says whose
 * the request is, nothing else does.
 */
function scopeFor(route: Route, caller: Caller): Scope {
  if (route.can === 'platform') return { kind: 'system' }
  return route.can === 'enrollment' ? { kind: 'nobody' } : caller.scope
}

/** Reads, and writes that keep their own transactions: outside of any. */
async function read({ kernel, route, text }: Mounted, call: Call, input: Input): Promise<Outcome> {
  const ctx = call.context(input, readerDb(kernel.pool, call.scope))
  const prepared = await route.prepare?.(ctx)
  const value = await route.run(ctx, prepared as never)
  requireFound(route, value)
  if (route.download) return { status: route.status, text: noAnswer, download: value as Download }
  const result = route.answer ? await route.answer(ctx, value as never) : value
  requireFound(route, result)
  return { status: route.status, text: text(result) }
}

/** `undefined` where there is something to answer means: not found, in this tenant or any. */
function requireFound(route: Route, value: unknown): void {
  if (value === undefined && (route.returns || route.answer || route.download))
    throw new ApiError('NOT_FOUND', 'not found')
}

async function write(mounted: Mounted, call: Call, input: Input, request: FastifyRequest): Promise<Outcome> {
  const { kernel, route, text } = mounted
  const reader = readerDb(kernel.pool, call.scope)
  const prepared = await route.prepare?.(call.context(input, reader))
  const key = request.headers['idempotency-key']
  const idempotent = idempotentRequest(route, call.caller, call.scope, {
    key: Array.isArray(key) ? key[0] : key,
    url: request.url,
    body: input.body,
  })
  const done = await commit(mounted, call, input, prepared, idempotent)
  if (!route.answer) return done.outcome
  const value = done.outcome.repeated ? JSON.parse(done.outcome.text) : done.value
  const result = await route.answer(call.context(input, reader), value as never)
  requireFound(route, result)
  return { ...done.outcome, text: text(result) }
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
): Promise<Done> {
  const { kernel, route } = mounted
  return inTransaction(kernel.pool, call.scope, async (db, tx) => {
    const earlier = key && (await claim(db, key, kernel.sealKey))
    if (earlier) return { value: undefined, outcome: { ...earlier, repeated: true } }
    const value = await route.run(call.context(input, db, tx), prepared as never)
    requireFound(route, value)
    audit(mounted, call, db)
    // With `answer`, what is remembered is what it is given, so that a repetition waits as the first did.
    const outcome: Remembered = {
      status: route.status,
      text: route.answer ? JSON.stringify(value) : mounted.text(value),
    }
    if (key) remember(db, key, outcome, route.idempotent === 'sealed' ? kernel.sealKey : undefined)
    return { value, outcome }
  })
}

function audit({ kernel, route }: Mounted, call: Call, db: Db) {
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

/** Best effort, after the commit: nobody waits for them, and their failure is only logged. */
function startEffects(kernel: Kernel, call: Call, request: FastifyRequest) {
  for (const effect of call.effects) {
    const work = Promise.resolve()
      .then(effect)
      .catch((error: unknown) =>
        request.log.warn({ err: error, requestId: request.id }, 'an effect after the commit failed'),
      )
    kernel.background(work)
  }
}

function send(reply: FastifyReply, { status, text, repeated }: Outcome) {
  if (reply.sent) return reply // by the deadline
  if (repeated) reply.header('idempotency-replayed', 'true')
  if (text === noAnswer) return reply.code(204).send()
  return reply.code(status).type('application/json; charset=utf-8').send(text)
}
