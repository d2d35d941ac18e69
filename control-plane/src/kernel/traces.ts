import { isIP } from 'node:net'
import type { BlockList } from 'node:net'
import {
  isRequestId,
  readTraceparent,
  type Span,
  type Trace,
  traceOfRequest,
  type Tracing,
} from '@svc/proto/trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** where it stands in the history of what somebody does; its span is this request */
    trace: Trace
    /** of this request; absent: nobody sees it */
    span: Span | undefined
  }
}

const isAmong = (list: BlockList, address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** The caller's, where its word is taken: who could choose ids freely could write in the history of others, and have it exported. */
function broughtBy(request: FastifyRequest, callers: BlockList): Trace | undefined {
  if (!isAmong(callers, request.ip)) return undefined
  const id = request.headers['x-request-id']
  if (isRequestId(id)) request.id = id
  return readTraceparent(request.headers['traceparent'])
}

/**
 * Gives each request its trace, and its id back to the caller as `x-request-id`: first of all, so that whatever is said of it can name
 * them. Where it is exported, the request is a span by the name of its route.
 */
export function traceRequests(app: FastifyInstance, callers: BlockList, tracing: Tracing): void {
  app.decorateRequest('trace')
  app.decorateRequest('span')
  const trusts = callers.rules.length > 0
  app.addHook('onRequest', (request, reply, done) => {
    const parent = trusts ? broughtBy(request, callers) : undefined
    const own = traceOfRequest(request.id, parent?.sampled ?? tracing.samples())
    request.trace = parent ? { ...own, traceId: parent.traceId } : own
    reply.header('x-request-id', request.id)
    if (tracing.on && request.trace.sampled) request.span = begin(request, tracing, parent)
    done()
  })
  if (!tracing.on) return
  app.addHook('onResponse', async (request, reply) => {
    const status = reply.statusCode
    request.span?.end({ 'http.response.status_code': status }, status >= 500 ? 'failed' : undefined)
  })
}

function begin(request: FastifyRequest, tracing: Tracing, parent: Trace | undefined): Span {
  const route = request.routeOptions.url ?? 'unknown'
  const attributes = {
    'http.request.method': request.method,
    'http.route': route,
    'svc.request_id': request.id,
  }
  return tracing.start(`${request.method} ${route}`, 'server', { own: request.trace, parent, attributes })
}
