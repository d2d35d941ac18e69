import type { FastifyReply } from 'fastify'
import { ApiError } from './errors.ts'

/** A handler may wait for a device for 30 s; beyond this it has been forgotten. */
export const answerWithinMs = 60_000

/**
 * Runs a handler. For one that has not come to an answer after `ms`, 503 is said in its stead. The framework's `handlerTimeout` would be over
 * with the last byte of a request's body, as it takes that for a client who hung up, and makes an abortion of it for each write.
 */
export async function withDeadline<T>(reply: FastifyReply, ms: number, work: () => Promise<T>): Promise<T> {
  const late = setTimeout(() => {
    if (!reply.sent)
      reply.send(new ApiError('UNAVAILABLE', 'the request took longer than it may', { retryAfter: 2 }))
  }, ms)
  try {
    return await work()
  } finally {
    clearTimeout(late)
  }
}

/** Aborts when the connection is gone, or the answer: whoever still works for it may stop. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  else raw.once('close', () => gone.abort())
  return gone.signal
}
