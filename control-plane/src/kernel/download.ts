import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './errors.ts'

/** Bytes that a route sends as they are, or where else they are. */
export type Download =
  | { redirect: string }
  | {
      /** what a browser would save it as */
      name: string
      size: number
      /** hex; what the bytes are known by */
      sha256: string
      /** From `start` to `end`, both included. Opened when it is known that somebody wants them. */
      open: (start: number, end: number) => Promise<Readable>
    }

/** A file takes as long as its reader's line; a line on which nothing moves is cut by the socket's own limit. */
export const downloadTimeoutMs = 3_600_000

interface Span {
  start: number
  end: number
}

/**
 * The one range that a request asks for (RFC 9110 §14.2); undefined: all of it, for what is no range or several.
 * @throws ApiError RANGE_NOT_SATISFIABLE for one that has nothing of it
 */
export function rangeOf(header: string | undefined, size: number): Span | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (from === '' && to === '') return undefined
  const span =
    from === ''
      ? { start: Math.max(0, size - Number(to)), end: size - 1 }
      : { start: Number(from), end: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
  if (to !== '' && from !== '' && Number(to) < Number(from)) return undefined
  if (span.start > span.end)
    throw new ApiError('RANGE_NOT_SATISFIABLE', `there are ${size} bytes`, { details: [{ size }] })
  return span
}

const tagsOf = (header: string | undefined) =>
  (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** Sends bytes with what proves them (`ETag`, RFC 9530 `Repr-Digest`), whole or one range of them, or says where they are. */
export async function sendDownload(request: FastifyRequest, reply: FastifyReply, download: Download) {
  reply.header('cache-control', 'no-cache')
  if ('redirect' in download) return reply.redirect(download.redirect, 302)
  const { name, size, sha256 } = download
  const etag = `"${sha256}"`
  reply
    .header('etag', etag)
    .header('repr-digest', `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`)
    .header('accept-ranges', 'bytes')
    .header('content-disposition', `attachment; filename="${name}"`)
    .type('application/octet-stream')
  if (tagsOf(request.headers['if-none-match']).includes(etag)) return reply.code(304).send()
  const whole = request.headers['if-range'] !== undefined && request.headers['if-range'] !== etag
  const span = whole ? undefined : rangeOf(request.headers.range, size)
  const { start, end } = span ?? { start: 0, end: size - 1 }
  if (span) reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`)
  reply.header('content-length', end - start + 1)
  return reply.send(request.method === 'HEAD' ? Readable.from([]) : await download.open(start, end))
}
