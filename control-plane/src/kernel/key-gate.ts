import type { FastifyReply, FastifyRequest } from 'fastify'
import { isWithin } from './address-ranges.ts'
import { clientAddress } from './address.ts'
import type { KeyStanding } from './api-keys.ts'
import { auditDenial } from './denial.ts'
import { ApiError } from './errors.ts'
import { rateLimited } from './limits.ts'
import type { Kernel } from './mount.ts'
import type { Route } from './route.ts'

/**
 * What is asked of an API key before its rights are: that it comes from where it may, and not too often. The answer says how much
 * is left of the minute, whatever becomes of the request; what is refused for its address costs nothing.
 *
 * @throws ApiError IP_NOT_ALLOWED, RATE_LIMITED
 */
export async function admitKey(kernel: Kernel, route: Route, request: FastifyRequest, reply: FastifyReply) {
  const { key } = request.caller
  if (!key) return
  await checkAddress(kernel, route, request, reply, key)
  const { limits, clock } = kernel.ports
  const { hits, msLeft } = await limits.count('api-key', { key: key.id })
  reply.headers({
    'x-ratelimit-limit': String(key.rateLimit),
    'x-ratelimit-remaining': String(Math.max(0, key.rateLimit - hits)),
    'x-ratelimit-reset': String(Math.max(1, Math.ceil(msLeft / 1_000))),
  })
  if (hits > key.rateLimit) throw rateLimited('api-key', msLeft)
  kernel.keyUses.add(key, clock.now())
}

async function checkAddress(
  kernel: Kernel,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  key: KeyStanding,
) {
  const address = clientAddress(request.ip, request.socket.remoteAddress)
  if (!key.ipAllowlist || isWithin(address, key.ipAllowlist)) return
  const refusal = new ApiError('IP_NOT_ALLOWED', `the API key may not be used from ${address}`)
  await auditDenial(kernel, route, request, reply, refusal)
  throw refusal
}
