import type { FastifyInstance } from 'fastify'
import { Histogram, type Registry } from 'prom-client'

/** From a cached read to a wait for a device. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Counts and times every request by its route (never its URL: labels are bounded), and logs it at `debug`. */
export function measure(app: FastifyInstance, registry: Registry): void {
  const durations = new Histogram({
    name: 'svc_http_request_seconds',
    help: 'Time from the first byte of a request to the last of its answer, by route, method and status',
    labelNames: ['route', 'method', 'status'],
    buckets,
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    const status = reply.statusCode
    durations.observe({ route, method: request.method, status }, reply.elapsedTime / 1_000)
    request.log.debug(
      { requestId: request.id, method: request.method, route, status, ms: reply.elapsedTime },
      'request',
    )
  })
}
