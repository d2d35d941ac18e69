import type { Metrics } from '../ops/metrics.ts'

/** What a supervisor says to a worker: go away politely; tell your metrics. */
export type ToWorker = { kind: 'drain' } | { kind: 'metrics' }

/** What a worker says to its supervisor: agents are accepted; the metrics that were asked for. */
export type FromWorker = { kind: 'listening' } | { kind: 'metrics'; metrics: Metrics }
