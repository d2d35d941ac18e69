import { createServer, type Server } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { closeLabel, type CloseReason } from '@svc/proto'
import { logCounts } from '@svc/proto/log'
import { loopCounts } from '@svc/proto/loop'
import { Counter, Gauge, Registry } from 'prom-client'
import { PortTaken } from '../transport/link.ts'
import type { Counters, Tally } from './counters.ts'
import type { DescriptorGuard } from './descriptors.ts'

/** What is true right now. */
export interface Gauges {
  newcomers: number
  residents: number
  /** residents by what carries them; counted when called */
  via: () => Tally
  uplink: { items: number; bytes: number; lagMs: number }
  /** residents that read slowly, and what waits for them; looks at each */
  backlog: () => { sessions: number; bytes: number }
  busUp: boolean
  exchangeUp: boolean
  /** since the last answer of the control plane */
  exchangeAgeMs: number
  descriptors: DescriptorGuard['state']
  /** of the chain that agents are shown; undefined without TLS */
  certificateExpires: Date | undefined
}

type Numbers = { [K in keyof Counters as Counters[K] extends number ? K : never]: number }

/** Plain counters: field → metric name and help. */
const totals: Record<keyof Numbers, [name: string, help: string]> = {
  opened: ['connections_opened', 'Connections accepted by the transport'],
  admitted: ['admitted', 'Devices admitted'],
  admittedLocally: ['admitted_locally', 'Devices admitted while the shared claims were away'],
  missed: ['admission_misses', 'Admissions that asked the control plane'],
  superseded: ['superseded', 'Admissions that took a device over from another connection'],
  framesUp: ['frames_received', 'Frames from agents'],
  framesDown: ['frames_sent', 'Frames to agents'],
  bytesUp: ['received_bytes', 'Bytes of frames from agents'],
  bytesDown: ['sent_bytes', 'Bytes of frames to agents'],
  framesQueued: ['frames_queued', 'Frames that waited for a slow reader'],
  batches: ['up_batches', 'Entries appended to the up-streams'],
  batchItems: ['up_items', 'Items in those entries'],
  appendFailures: ['up_append_failures', 'Appends that were not accepted and go again'],
  exchanges: ['exchanges', 'Exchanges with the control plane'],
  exchangeFailures: ['exchange_failures', 'Exchanges that failed'],
  carriedBatches: ['carried_batches', 'Batches that the control plane took directly, while the bus was away'],
  carriedItems: ['carried_items', 'Items in those batches'],
  carryFailures: ['carry_failures', 'Calls that failed to carry batches, which go again'],
  messagesReturned: ['messages_returned', 'Messages that came with answers, while the bus was away'],
  revocations: ['revoked', 'Connections cut because their credential died'],
  lateRevocations: ['revoked_late', 'Of those, cut more than five seconds after it died'],
  busGaps: ['redis_gaps', 'Times that Redis came back: what was published meanwhile was not heard'],
  descriptorPauses: ['descriptor_pauses', 'Times that listening stopped for want of file descriptors'],
  errors: ['errors', 'Errors caught at a boundary'],
}

/** What a registry holds, as data that can be sent. */
export type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The gateway's metrics. Counting costs an addition; the work is done when somebody scrapes. */
export class Meters {
  readonly #registry: Registry
  #stopEventLoop: (() => void) | undefined
  #server: MetricsServer | undefined

  constructor(counters: Counters, gauges: () => Gauges) {
    this.#registry = metricsOf(counters, gauges)
  }

  /** Serves them; resolves with where. Rejects with {@link PortTaken}. */
  async serve(place: { host: string; port: number }): Promise<string> {
    this.#stopEventLoop ??= measureEventLoop(this.#registry)
    this.#server = await serveMetrics(() => this.#registry.metrics(), place)
    return this.#server.url
  }

  /** What is served, as data. The event loop is measured from the first call on. */
  read(): Promise<Metrics> {
    this.#stopEventLoop ??= measureEventLoop(this.#registry)
    return this.#registry.getMetricsAsJSON()
  }

  async close(): Promise<void> {
    this.#stopEventLoop?.()
    await this.#server?.close()
  }
}

function metricsOf(counters: Counters, gauges: () => Gauges): Registry {
  const registry = new Registry()
  for (const [field, [name, help]] of Object.entries(totals))
    total(registry, name, help, () => counters[field as keyof Numbers])
  tally(
    registry,
    'rejected',
    'Connections turned away before they said anything',
    'status',
    () => counters.rejected,
  )
  tally(registry, 'refused', 'Admissions refused', 'reason', () => lower(counters.refused))
  tally(registry, 'closed', 'Connections ended', 'reason', () => lower(counters.closed))
  tally(registry, 'dropped', 'Things thrown away or not accepted', 'what', () => counters.dropped)
  tally(registry, 'log_lines_lost', 'Lines of the log that were not written', 'why', () => logCounts.lost)
  tally(registry, 'security_events', 'What is told whatever the level', 'event', () => logCounts.security)
  gauge(registry, 'newcomers', 'Connections not admitted yet', () => gauges().newcomers)
  gauge(registry, 'devices', 'Devices connected', () => gauges().residents)
  gaugeBy(registry, 'devices_by_transport', 'Of those, by what carries them', 'via', () => gauges().via())
  gauge(registry, 'slow_readers', 'Devices that frames wait for', () => gauges().backlog().sessions)
  gauge(registry, 'backlog_bytes', 'Bytes that wait for them', () => gauges().backlog().bytes)
  gauge(registry, 'up_held_items', 'Items waiting for the up-streams', () => gauges().uplink.items)
  gauge(registry, 'up_held_bytes', 'Their bytes, estimated', () => gauges().uplink.bytes)
  gauge(registry, 'up_lag_seconds', 'Age of the oldest of them', () => gauges().uplink.lagMs / 1000)
  gauge(registry, 'redis_up', 'Whether the bus answers', () => Number(gauges().busUp))
  gauge(registry, 'exchange_up', 'Whether the control plane answers', () => Number(gauges().exchangeUp))
  gauge(
    registry,
    'exchange_age_seconds',
    'Since the last answer of the control plane',
    () => gauges().exchangeAgeMs / 1000,
  )
  total(
    registry,
    'event_loop_blocks',
    'Times that the event loop stood still for half a second or longer',
    () => loopCounts.blocks,
  )
  total(registry, 'event_loop_blocked_seconds', 'How long together', () => loopCounts.blockedMs / 1000)
  gauge(registry, 'memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  gauge(registry, 'paused', 'Whether it does not listen for now', () =>
    Number(gauges().descriptors?.paused ?? false),
  )
  gauge(registry, 'descriptors', 'File descriptors in use', () => gauges().descriptors?.used ?? NaN)
  gauge(registry, 'descriptors_limit', 'How many it may have', () => gauges().descriptors?.limit ?? NaN)
  gauge(
    registry,
    'certificate_expires_timestamp_seconds',
    'When the first certificate expires of those that it shows agents; NaN without TLS',
    () => (gauges().certificateExpires?.getTime() ?? NaN) / 1000,
  )
  return registry
}

/** Adds the delay of the event loop, which costs a timer from now on. Returns what ends that. */
function measureEventLoop(registry: Registry): () => void {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  gauge(registry, 'event_loop_delay_p99_seconds', 'Since the last scrape', () => {
    const p99 = delay.percentile(99) / 1e9
    delay.reset()
    return p99
  })
  return () => delay.disable()
}

const total = (registry: Registry, name: string, help: string, read: () => number) =>
  new Counter({
    name: `svc_edge_${name}_total`,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })

/** A gauge of ours, read when somebody scrapes. */
export const gauge = (registry: Registry, name: string, help: string, read: () => number) =>
  new Gauge({
    name: `svc_edge_${name}`,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })

/** The same by kind. */
const gaugeBy = (registry: Registry, name: string, help: string, label: string, read: () => Tally) =>
  new Gauge({
    name: `svc_edge_${name}`,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [kind, value] of Object.entries(read())) this.set({ [label]: kind }, value ?? 0)
    },
  })

/** A counter of ours by kind, read when somebody scrapes. */
export const tally = (registry: Registry, name: string, help: string, label: string, read: () => Tally) =>
  new Counter({
    name: `svc_edge_${name}_total`,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const [kind, value] of Object.entries(read())) this.inc({ [label]: kind }, value ?? 0)
    },
  })

const lower = (tally: Tally<CloseReason>): Tally =>
  Object.fromEntries(
    Object.entries(tally).map(([reason, value]) => [closeLabel(reason as CloseReason), value]),
  )

export interface MetricsServer {
  url: string
  close(): Promise<void>
}

/** Serves `GET /metrics`: what `text` gives, in the format of Prometheus. Rejects with {@link PortTaken}. */
export async function serveMetrics(
  text: () => Promise<string>,
  { host, port }: { host: string; port: number },
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return response.writeHead(404).end()
    text().then(
      (body) => response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(body),
      () => response.writeHead(500).end(),
    )
  })
  await listening(server, host, port)
  const address = server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  return {
    url: `http://${host}:${actual}/metrics`,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

const listening = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new PortTaken(`cannot listen on ${host} port ${port} (${error.code}): set GATEWAY_METRICS_PORT`),
      ),
    )
    server.listen(port, host, resolve)
  })
