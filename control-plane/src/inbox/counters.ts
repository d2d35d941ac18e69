import { Counter, Histogram, type Registry } from 'prom-client'
import type { Applied } from '../engines/work/report.ts'

/** What the inbox counts. Labels come from closed lists. */
export interface Counters {
  item(kind: string): void
  /** an item that could not be taken, by reason */
  poison(reason: string): void
  reports(outcome: string, count: number): void
  refused(reason: 'unknown_device' | 'superseded'): void
  /** what a committed batch did to commands */
  commands(applied: Pick<Applied, 'left' | 'delivered'>): void
  /** a batch is committed, so many seconds after a gateway received the oldest of it */
  committed(seconds: number): void
}

/** From an answer of an agent that waits for it, to a script that runs over night. */
const stateBuckets = [0.05, 0.25, 1, 5, 15, 60, 300, 1_800, 7_200, 86_400]
/** Around what is promised: five seconds for a command, thirty for a heartbeat. */
const deliveryBuckets = [0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]
const batchBuckets = [0.1, 0.5, 1, 2, 5, 15, 30, 120, 600]

/** Counters in a registry of their owner's. Who works off streams and who takes what is carried up count in the same ones. */
export function inboxCounters(registry: Registry): Counters {
  const counter = (name: string, help: string, label: string) =>
    (registry.getSingleMetric(name) as Counter | undefined) ??
    new Counter({ name, help, labelNames: [label], registers: [registry] })
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    (registry.getSingleMetric(name) as Histogram | undefined) ??
    new Histogram({ name, help, labelNames, buckets, registers: [registry] })
  const items = counter('svc_inbox_items_total', 'Items from gateways that were applied.', 'kind')
  const poison = counter('svc_inbox_poison_total', 'Items from gateways that had to be left out.', 'reason')
  const reports = counter(
    'svc_inbox_reports_total',
    'What devices said about commands, and what became of it.',
    'outcome',
  )
  const refused = counter('svc_inbox_refused_total', 'Devices whose word was not taken.', 'reason')
  const states = histogram(
    'svc_commands_state_seconds',
    'How long commands were queued (from when they were due), delivered and running, as devices ended it',
    stateBuckets,
    ['state'],
  )
  const deliveries = histogram(
    'svc_commands_delivery_seconds',
    'Time until a device acknowledged a command, from when it was due, its device connected and its lane free',
    deliveryBuckets,
  )
  const lag = histogram(
    'svc_inbox_lag_seconds',
    'Time from when a gateway received the oldest item of a batch until that was committed',
    batchBuckets,
  )
  return {
    commands: ({ left, delivered }) => {
      for (const { state, seconds } of left) states.observe({ state }, seconds)
      for (const seconds of delivered) deliveries.observe(seconds)
    },
    committed: (seconds) => lag.observe(Math.max(0, seconds)),
    item: (kind) => items.inc({ kind }),
    poison: (reason) => poison.inc({ reason }),
    reports: (outcome, count) => {
      if (count > 0) reports.inc({ outcome }, count)
    },
    refused: (reason) => refused.inc({ reason }),
  }
}
