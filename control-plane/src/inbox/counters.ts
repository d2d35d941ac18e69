import { Counter, type Registry } from 'prom-client'

/** What the inbox counts. Labels come from closed lists. */
export interface Counters {
  item(kind: string): void
  /** an item that could not be taken, by reason */
  poison(reason: string): void
  reports(outcome: string, count: number): void
  refused(reason: 'unknown_device' | 'superseded'): void
}

/** Counters in a registry of their owner's. Who works off streams and who takes what is carried up count in the same ones. */
export function inboxCounters(registry: Registry): Counters {
  const counter = (name: string, help: string, label: string) =>
    (registry.getSingleMetric(name) as Counter | undefined) ??
    new Counter({ name, help, labelNames: [label], registers: [registry] })
  const items = counter('svc_inbox_items_total', 'Items from gateways that were applied.', 'kind')
  const poison = counter('svc_inbox_poison_total', 'Items from gateways that had to be left out.', 'reason')
  const reports = counter(
    'svc_inbox_reports_total',
    'What devices said about commands, and what became of it.',
    'outcome',
  )
  const refused = counter('svc_inbox_refused_total', 'Devices whose word was not taken.', 'reason')
  return {
    item: (kind) => items.inc({ kind }),
    poison: (reason) => poison.inc({ reason }),
    reports: (outcome, count) => {
      if (count > 0) reports.inc({ outcome }, count)
    },
    refused: (reason) => refused.inc({ reason }),
  }
}
