import { ROOT_CONTEXT, SpanKind as Kind, SpanStatusCode, trace as api, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node'
import type { TracingOptions } from './open.ts'
import type { Trace } from './trace.ts'
import { noTracing, type SpanKind, type Tracing } from './tracing.ts'

/** Spans that wait for a receiver that is slow or away; more are thrown away. */
const maxQueueSize = 2_048
const maxExportBatchSize = 256
const scheduledDelayMillis = 1_000
const exportTimeoutMillis = 5_000
/** A process that ends does not wait longer for its receiver. */
const closeWithinMs = 2_000

const kinds: Record<SpanKind, Kind> = {
  server: Kind.SERVER,
  client: Kind.CLIENT,
  producer: Kind.PRODUCER,
  consumer: Kind.CONSUMER,
  internal: Kind.INTERNAL,
}

/** Ids that are known already, because rows and messages bear them, and random ones. */
class Ids implements IdGenerator {
  readonly #random = new RandomIdGenerator()
  next: Trace | undefined

  generateTraceId = (): string => this.next?.traceId ?? this.#random.generateTraceId()
  generateSpanId = (): string => this.next?.spanId ?? this.#random.generateSpanId()
}

/** Tells of what was not taken, which nobody else is told. */
function telling(exporter: SpanExporter, failed: TracingOptions['failed']): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error) failed(result.error)
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

/** Exports over OTLP/HTTP, in batches, in the background. */
export function exporting(options: TracingOptions & { endpoint: string }): Tracing {
  const { endpoint, ratio, service, instance, version, failed } = options
  const ids = new Ids()
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const exporter = telling(new OTLPTraceExporter({ url, timeoutMillis: exportTimeoutMillis }), failed)
  const queue = { maxQueueSize, maxExportBatchSize, scheduledDelayMillis, exportTimeoutMillis }
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': `svc-${service}`,
      'service.instance.id': instance,
      'service.version': version,
    }),
    // Who is seen is decided where a request begins.
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(exporter, queue)],
  })
  const tracer = provider.getTracer('svc')
  return {
    on: true,
    samples: () => ratio > 0 && Math.random() < ratio,
    start: (name, kind, { parent, own, attributes = {}, at }) => {
      const known = own ?? parent
      if (!known?.sampled) return noTracing.start(name, kind, { parent, own })
      ids.next = own
      const context = parent
        ? api.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags: TraceFlags.SAMPLED, isRemote: true })
        : ROOT_CONTEXT
      const span = tracer.startSpan(
        name,
        { kind: kinds[kind], attributes, ...(at && { startTime: at }) },
        context,
      )
      ids.next = undefined
      return {
        trace: { ...known, spanId: span.spanContext().spanId },
        end: (more = {}, wrong) => {
          span.setAttributes(more)
          if (wrong) span.setStatus({ code: SpanStatusCode.ERROR, message: wrong })
          span.end()
        },
      }
    },
    close: async () => {
      const patience = new Promise((resolve) => setTimeout(resolve, closeWithinMs).unref())
      await Promise.race([provider.shutdown().catch(failed), patience])
    },
  }
}
