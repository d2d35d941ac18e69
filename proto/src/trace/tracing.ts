import type { Trace } from './trace.ts'

/** What a span says of what it measured: short, bounded, no secrets, as labels of metrics are. */
export type Attributes = Record<string, string | number | boolean>

/** A piece of work under way. */
export interface Span {
  /** for what is done within it, here or elsewhere */
  readonly trace: Trace
  /** Ends it, once. @param failed what went wrong, in a word */
  end(attributes?: Attributes, failed?: string): void
}

export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal'

/** Where a span stands. At least one of `parent` and `own` is there. */
export interface Place {
  /** what it is a part of; absent: it is the first */
  parent?: Trace | undefined
  /** its ids, where others know them already */
  own?: Trace | undefined
  attributes?: Attributes
  /** when it began, in milliseconds since 1970, if that was before */
  at?: number
}

/** Makes spans, or does not. */
export interface Tracing {
  /** false: nobody would see a span, and whoever has to work for one need not */
  readonly on: boolean
  /** A fraction of requests that nobody brought a trace for is seen whole. */
  samples(): boolean
  /** Begins a span. */
  start(name: string, kind: SpanKind, of: Place): Span
  /** Sends what is left, for as long as it is bearable. */
  close(): Promise<void>
}

/** Where nothing is exported: ids are handed on as they came. */
export const noTracing: Tracing = {
  on: false,
  samples: () => false,
  start: (_name, _kind, { parent, own }) => {
    const trace = own ?? parent
    if (!trace) throw new Error('a span that is no part of anything')
    return { trace, end: () => undefined }
  },
  close: async () => undefined,
}
