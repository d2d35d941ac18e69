import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ApiError } from './errors.ts'

const all = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const satisfies HTTPMethods[]

/** A path that exists answers any other method with 405 and what it does allow (RFC 9110 §15.5.6), before a body is read. */
export function refuseOtherMethods(
  app: FastifyInstance,
  known: readonly (readonly [method: string, url: string])[],
): void {
  const allowed = new Map<string, Set<string>>()
  for (const [method, url] of known) {
    const methods = allowed.get(url) ?? new Set<string>()
    allowed.set(url, methods.add(method))
    if (method === 'GET') methods.add('HEAD')
  }
  for (const [url, methods] of allowed) {
    const others = all.filter((method) => !methods.has(method) && !app.hasRoute({ method, url }))
    const allow = [...methods].join(', ')
    if (others.length === 0) continue
    app.route({
      method: others,
      url,
      onRequest: async (_request, reply) => {
        reply.header('allow', allow)
        throw new ApiError('METHOD_NOT_ALLOWED', `allowed: ${allow}`)
      },
      handler: () => undefined,
    })
  }
}
