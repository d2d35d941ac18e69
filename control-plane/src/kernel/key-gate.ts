import type { FastifyReply, FastifyRequest } from 'fastify'
import { isWithin } from './address-ranges.ts'
import { knownAddress } from './address.ts'
import type { KeyStanding } from './api-keys.ts'
import { ApiError } from './errors.ts'
import { rateLimited } from './limits.ts'
import type { KeyUses } from './key-uses.ts'
import type { Ports } from './ports.ts'

/**
 * What is asked of an API key before its rights are: that it comes from where it may, and not too often. The answer says how much
 * is left of the minute, whatever becomes of the request; what is refused for its address costs nothing.
 *
 * @throws ApiError IP_NOT_ALLOWED, RATE_LIMITED
 */
export async function admitKey(
  { limits, clock }: Pick<Ports, 'limits' | 'clock'>,
  uses: Pick<KeyUses, 'add'>,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { key } = request.caller
  if (!key) return
  checkAddress(request, key)
  const { hits, msLeft } = await limits.count('api-key', { key: key.id })
  reply.headers({
    'x-ratelimit-limit': String(key.rateLimit),
    'x-ratelimit-remaining': String(Math.max(0, key.rateLimit - hits)),
    'x-ratelimit-reset': String(Math.max(1, Math.ceil(msLeft / 1_000))),
  })
  if (hits > key.rateLimit) throw rateLimited('api-key', msLeft)
  uses.add(key, clock.now())
}

function checkAddress({ ip }: FastifyRequest, { ipAllowlist }: KeyStanding) {
  const address = knownAddress(ip)
  if (!ipAllowlist || (address !== undefined && isWithin(address, ipAllowlist))) return
  throw new ApiError('IP_NOT_ALLOWED', `the API key may not be used from ${address ?? 'an unknown address'}`)
}
