import type { SecurityLog } from '@svc/proto/log'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from 'postgres'
import { isOpen } from './access.ts'
import { writeRefusals } from './audit.ts'
import { clientOf } from './call.ts'
import { ApiError, type ErrorCode } from './errors.ts'
import { withinLimit } from './limits.ts'
import type { Ports } from './ports.ts'
import type { Route } from './route.ts'
import { tellRefusals } from './security.ts'

/** Somebody known asked for what they may not have. A missing second factor is no attempt at anything: it is not among them. */
const denials: ReadonlySet<ErrorCode> = new Set([
  'FORBIDDEN',
  'CONTEXT_REQUIRED',
  'FULL_ACCESS_REQUIRED',
  'IP_NOT_ALLOWED',
  'DELEGATION_CEILING',
])

/**
 * Leaves a `denied` row for a refused authorization, in a transaction of its own. A run-away script must not fill the log: beyond
 * the limit `denied` of a user, refusals are answered and not written.
 */
export async function auditDenial(
  { ports, pool, security }: { ports: Ports; pool: Sql; security: SecurityLog },
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): Promise<void> {
  const { caller } = request
  if (!(error instanceof ApiError) || !denials.has(error.code)) return
  // Of an open route it is not the caller who is refused, but what the request brings along.
  if (isOpen(route.can) || !('id' in caller.actor)) return
  const { scope } = caller
  const beyond = error.code === 'DELEGATION_CEILING' ? { beyond: error.details } : {}
  const details = { method: route.method, path: route.path, needs: route.can, code: error.code, ...beyond }
  const partner = scope.kind === 'tenant' ? { partnerId: scope.partnerId } : {}
  const refusal = {
    action: 'authorization.denied',
    result: 'denied',
    actor: caller.actor,
    ...partner,
    details,
  } as const
  const client = clientOf(request, reply)
  if (!(await withinLimit(ports.limits.hit('denied', { user: caller.actor.id })))) return
  tellRefusals(security, [refusal], client)
  await writeRefusals(pool, [refusal], client, ports.clock.now())
}
