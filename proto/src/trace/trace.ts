import type { svc } from '../gen/svc.js'

/** Where in the history of a request something belongs: W3C Trace Context, and the request that began it. */
export interface Trace {
  /** 32 hexadecimal digits */
  traceId: string
  /** 16: the span that what follows is a child of */
  spanId: string
  /** somebody wants to see all of it: it is exported, and its lines are written at level `info` */
  sampled: boolean
  /** a UUID; absent: no request asked for it */
  requestId?: string | undefined
}

/** What lines of a log say of it. */
export const inLog = (trace: Trace | undefined): Partial<Pick<Trace, 'traceId' | 'spanId' | 'requestId'>> =>
  trace ? { traceId: trace.traceId, spanId: trace.spanId, requestId: trace.requestId } : {}

const traceparentForm =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
const requestIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Longer ones are of versions that do not exist yet, or no traceparent at all. */
const longestTraceparent = 256
const isSampled = (flags: number) => (flags & 1) === 1

/** What a header `traceparent` says; undefined where it says nothing (W3C Trace Context §3.2.2). */
export function readTraceparent(header: unknown): Trace | undefined {
  if (typeof header !== 'string' || header.length > longestTraceparent) return undefined
  const [, traceId, spanId, flags] = traceparentForm.exec(header) ?? []
  if (!traceId || !spanId || !flags) return undefined
  // Version 00 ends with its flags.
  if (header.startsWith('00') && header.length !== 55) return undefined
  return { traceId, spanId, sampled: isSampled(Number.parseInt(flags, 16)) }
}

/** As a header, and as rows hold it. */
export const writeTraceparent = ({ traceId, spanId, sampled }: Trace): string =>
  `00-${traceId}-${spanId}-0${Number(sampled)}`

/** Whether a request may be called so: a UUID, as the server makes them. */
export const isRequestId = (text: unknown): text is string =>
  typeof text === 'string' && requestIdForm.test(text)

/** The trace of a request that nobody brought one for: one id names all, and its random half the request's span. */
export function traceOfRequest(requestId: string, sampled: boolean): Trace {
  const traceId = requestId.replaceAll('-', '')
  return { traceId, spanId: traceId.slice(16), sampled, requestId }
}

const bytesOf = (hex: string) => Buffer.from(hex, 'hex')
const uuidOf = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
const hexOf = (bytes: Uint8Array | null | undefined, length: number): string | undefined => {
  if (bytes?.length !== length) return undefined
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('hex')
  return /^0+$/.test(hex) ? undefined : hex
}

/** As messages carry it. */
export const toWire = ({ traceId, spanId, sampled, requestId }: Trace): svc.v1.ITrace => ({
  traceId: bytesOf(traceId),
  spanId: bytesOf(spanId),
  flags: Number(sampled),
  requestId: requestId ? bytesOf(requestId.replaceAll('-', '')) : new Uint8Array(),
})

/** Undefined for one that is none: whoever sent it may be an agent. */
export function fromWire(wire: svc.v1.ITrace | null | undefined): Trace | undefined {
  if (!wire) return undefined
  const [traceId, spanId] = [hexOf(wire.traceId, 16), hexOf(wire.spanId, 8)]
  if (!traceId || !spanId) return undefined
  const requestId = hexOf(wire.requestId, 16)
  return {
    traceId,
    spanId,
    sampled: isSampled(wire.flags ?? 0),
    ...(requestId && { requestId: uuidOf(requestId) }),
  }
}
