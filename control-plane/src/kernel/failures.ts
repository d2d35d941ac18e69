import type { FastifyReply, FastifyRequest } from 'fastify'
import { STATUS_CODES } from 'node:http'
import { inLog } from '@svc/proto/trace'
import type { Socket } from 'node:net'
import { translate } from './translate.ts'

/** Answers whatever was thrown with the one envelope; faults of ours are logged with what went wrong underneath. */
export function answerErrors(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = translate(error)
  // A crowd that is turned away must not make the log wait for its reader, and everybody for the log.
  if (refusal.status >= 500 && !refusal.shed) {
    request.log.error(
      {
        event: 'http.failed',
        err: refusal.cause ?? refusal,
        ...inLog(request.trace),
        errorCode: refusal.code,
      },
      'a request failed',
    )
  }
  if (refusal.retryAfter !== undefined) reply.header('retry-after', String(refusal.retryAfter))
  if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
  return reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(refusal.body()))
}

/** What Node says about a request that is no HTTP, too slow or too large before there is a request to answer. */
const unreadable: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

/** Says so on the bare socket, and closes it: what follows on it cannot be trusted to be a request. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = unreadable[error.code ?? ''] ?? 400
  const body = JSON.stringify({
    error: { code: 'BAD_REQUEST', message: 'the request cannot be read', details: [] },
  })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
