import type { FastifyReply } from 'fastify'
import type { Download } from './download.ts'
import { ApiError } from './errors.ts'
import type { Route } from './route.ts'

/** What a handler came to. */
export interface Outcome {
  status: number
  text: string
  /** the answer to an earlier request with the same Idempotency-Key */
  repeated?: true
  /** bytes instead of text */
  download?: Download
  /** another address instead of either */
  redirect?: string
}

export const noAnswer = ''

/** `undefined` where there is something to answer means: not found, in this tenant or any. */
export function requireFound(route: Route, value: unknown): void {
  if (value === undefined && (route.returns || route.answer || route.download || route.redirect))
    throw new ApiError('NOT_FOUND', 'not found')
}

export function send(reply: FastifyReply, { status, text, repeated }: Outcome) {
  if (reply.sent) return reply // by the deadline
  if (repeated) reply.header('idempotency-replayed', 'true')
  if (text === noAnswer) return reply.code(204).send()
  return reply.code(status).type('application/json; charset=utf-8').send(text)
}
