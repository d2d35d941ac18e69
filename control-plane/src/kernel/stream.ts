import { once } from 'node:events'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuditSubject } from './context.ts'
import { ApiError } from './errors.ts'

/** What a route sends piece by piece, as its reader takes it. */
export interface Outflow {
  /** of its media type */
  type: string
  /** what a browser would save it as */
  name: string
  headers?: Record<string, string>
  /** UTF-8. Asked for the next piece only when the reader took the one before. */
  pieces: AsyncIterable<string>
  /** what the audit row says, which is written before the first byte leaves */
  subject: AuditSubject
}

/** How long a reader may take nothing, and how long all of it may take: meanwhile it has a connection to the database for itself. */
export interface Patience {
  stallMs: number
  wholeMs: number
}
/** Below what Postgres gives an idle transaction, so that it is we who say why. */
export const patience: Patience = { stallMs: 10_000, wholeMs: 600_000 }

const tooSlow = (what: string) =>
  new ApiError('UNAVAILABLE', `the reader ${what}: the rest is not sent`, { retryAfter: 2 })

/** Ends a stream, with its connection, whose reader has stalled or takes too long in all. @returns what stops the watch */
function watch(reply: FastifyReply, stream: Readable, { stallMs, wholeMs }: Patience): () => void {
  const { raw } = reply
  const whole = setTimeout(() => stream.destroy(tooSlow('takes too long')), wholeMs)
  let taken = raw.socket?.bytesWritten ?? 0
  const stall = setInterval(() => {
    const now = raw.socket?.bytesWritten ?? 0
    // A source that has nothing to give yet is no reader's fault.
    if (raw.writableNeedDrain && now - (raw.socket?.writableLength ?? 0) <= taken)
      stream.destroy(tooSlow('has stalled'))
    taken = now - (raw.socket?.writableLength ?? 0)
  }, stallMs)
  return () => {
    clearTimeout(whole)
    clearInterval(stall)
  }
}

/**
 * Sends it, and waits for its end: the reader has all of it, has hung up, or was too slow. What fails once bytes have left ends the
 * connection, so that nobody takes a part for the whole.
 */
export async function sendOutflow(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, name, headers = {}, pieces }: Outflow,
  limits: Patience,
): Promise<void> {
  const stream = Readable.from(pieces, { objectMode: false, highWaterMark: 64 * 1024 })
  reply.headers({
    ...headers,
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="${name}"`,
  })
  const stop = watch(reply, stream, limits)
  const ended = finished(stream).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'ERR_STREAM_PREMATURE_CLOSE')
      request.log.warn({ err: error, requestId: request.id }, 'a stream was not sent to its end')
  })
  reply.type(type).send(stream)
  await ended
  stop()
  if (!reply.raw.writableFinished && !reply.raw.destroyed)
    await Promise.race([once(reply.raw, 'close'), once(reply.raw, 'finish')])
}
