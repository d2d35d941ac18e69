import type { FastifyInstance } from 'fastify'
import { inLog } from '@svc/proto/trace'
import { Counter, Histogram, type Registry } from 'prom-client'

/** From a cached read to a wait for a device. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Of a route: the first segment below the prefix. Who asks for a command may wait for its device on purpose, and stands apart. */
function areaOf(route: string): string {
  if (route.includes('/commands')) return 'commands'
  const [, api, , area] = route.split('/')
  return api === 'api' ? (area ?? 'api') : (api ?? 'unknown')
}

/**
 * Counts and times every request by its route (never its URL: labels are bounded), and logs it: at `debug`, or at `info` where somebody
 * wants to see its trace. There are five hundred routes: how times are spread is told by area, and of a route how many and how long.
 *
 * @param labelOf a proof of its own tells requests apart by what no label may hold
 */
export function measure(
  app: FastifyInstance,
  registry: Registry,
  labelOf: (route: string, url: string) => string = (route) => route,
): void {
  const registers = [registry]
  const durations = new Histogram({
    name: 'svc_http_request_seconds',
    help: 'Time from the first byte of a request to the last of its answer, by area of the API',
    labelNames: ['area'],
    buckets,
    registers,
  })
  const requests = new Counter({
    name: 'svc_http_requests_total',
    help: 'Requests answered, by route, method and class of status',
    labelNames: ['route', 'method', 'status'],
    registers,
  })
  const spent = new Counter({
    name: 'svc_http_route_seconds_total',
    help: 'Time that they took together, by route and method',
    labelNames: ['route', 'method'],
    registers,
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    const { trace, log, method } = request
    const status = reply.statusCode
    const seconds = reply.elapsedTime / 1_000
    const label = labelOf(route, request.url)
    durations.observe({ area: areaOf(route) }, seconds)
    requests.inc({ route: label, method, status: `${Math.floor(status / 100)}xx` })
    spent.inc({ route: label, method }, seconds)
    const line = { event: 'http.request', ...inLog(trace), method, route, status, ms: reply.elapsedTime }
    if (trace.sampled) log.info(line, 'request')
    else log.debug(line, 'request')
  })
}
