import { inLog } from '@svc/proto/trace'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authorize, isOpen } from './access.ts'
import { clientAddress } from './address.ts'
import { nobody } from './caller.ts'
import { type Caller, userBehind } from './context.ts'
import { readerDb } from './db.ts'
import { auditDenial } from './denial.ts'
import { ApiError } from './errors.ts'
import { type Mounted, poolOf } from './kernel.ts'
import { take, type Taken } from './points.ts'
import type { Route } from './route.ts'
import type { Db, Scope } from './tenancy.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** when it was found out who calls, ms of the process's own clock */
    calledAt: number
    taken: Taken[]
  }
}

/** A body may take its time to arrive; who has sent it is asked again when it took longer than this (promise P7). */
const askedAgainAfterMs = 1_000

/** An open route may be called with a token, and one that is no good is as none there; API keys are not even looked at. */
export async function callerOf({ kernel, route }: Mounted, request: FastifyRequest): Promise<Caller> {
  const { headers, ip, socket } = request
  const apiKey = headers['x-api-key']
  const open = isOpen(route.can)
  const credential = {
    authorization: headers.authorization,
    apiKey: open ? undefined : Array.isArray(apiKey) ? apiKey[0] : apiKey,
    ip: clientAddress(ip, socket.remoteAddress),
  }
  return kernel.identify(credential).catch((error: unknown) => {
    const unknown = error instanceof ApiError && error.code === 'UNAUTHENTICATED'
    if (open && unknown) return nobody
    if (unknown && (credential.authorization ?? credential.apiKey) !== undefined)
      kernel.security('credential.refused', 'a credential is refused', {
        ...inLog(request.trace),
        ip: credential.ip,
        path: route.path,
      })
    throw error
  })
}

export function mayCall({ kernel, route }: Mounted, caller: Caller): void {
  authorize(route, caller, kernel.ports.clock.now(), kernel.ports.config.enable2fa)
}

/** Whoever was let in with the first line of a request, and is not any more when its body is there, has come too late. */
export async function askAgain(mounted: Mounted, request: FastifyRequest, reply: FastifyReply) {
  if (performance.now() - request.calledAt < askedAgainAfterMs) return
  request.caller = await callerOf(mounted, request)
  await auditingDenials(mounted, request, reply, async () => mayCall(mounted, request.caller))
}

/** What a request that has been under way for a while may see by now. @throws ApiError when its caller may not make it any more */
export async function stillSeen(mounted: Mounted, request: FastifyRequest): Promise<Db> {
  const caller = await callerOf(mounted, request)
  mayCall(mounted, caller)
  return readerDb(poolOf(mounted), scopeFor(mounted.route, caller))
}

/** Limits that count by what is known before the body is read. */
export async function takePoints({ kernel, route }: Mounted, request: FastifyRequest) {
  request.taken = []
  await take(kernel.ports.limits, route, 'early', subjectOf(request), request.taken)
}

/** What is refused to somebody known leaves a row, wherever it is refused. */
export async function auditingDenials<T>(
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

/** A key is its owner's: what counts people counts whatever of theirs asks. */
export const subjectOf = ({ ip, socket, caller }: FastifyRequest) => {
  const user = userBehind(caller.actor)
  return { ip: clientAddress(ip, socket.remoteAddress), ...(user !== undefined && { user }) }
}

/** The parts of a body that limits count by. */
export function fromBody(body: unknown) {
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
export function scopeFor(route: Route, caller: Caller): Scope {
  if (route.can === 'platform') return { kind: 'system' }
  return route.can === 'enrollment' ? { kind: 'nobody' } : caller.scope
}
