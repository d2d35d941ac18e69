import type { Service } from '../log/events.ts'
import { noTracing, type Tracing } from './tracing.ts'

export interface TracingOptions {
  /** OTEL_EXPORTER_OTLP_ENDPOINT; undefined: nothing is exported, and nothing of it loaded */
  endpoint: string | undefined
  /** OTEL_TRACES_SAMPLER_ARG: of requests without a trace, the part that is seen */
  ratio: number
  service: Service
  instance: string
  version: string
  /** told of what could not be exported */
  failed: (error: Error) => void
}

/** Exports by OTLP over HTTP where that is configured; its libraries are loaded then alone. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const { endpoint } = options
  if (endpoint === undefined) return noTracing
  const { exporting } = await import('./exporting.ts')
  return exporting({ ...options, endpoint })
}
