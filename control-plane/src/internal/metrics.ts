import { Counter, type Registry } from 'prom-client'

/** What the internal listener counts. */
export function internalMetrics(registry: Registry) {
  const registers = [registry]
  return {
    refusals: new Counter({
      name: 'svc_internal_refusals_total',
      help: 'Requests of gateways that were refused, by reason: key, body, node, failure',
      labelNames: ['reason'],
      registers,
    }),
    carriedBatches: new Counter({
      name: 'svc_internal_carried_batches_total',
      help: 'Batches that gateways carried up while they could not reach their streams',
      registers,
    }),
    carriedItems: new Counter({
      name: 'svc_internal_carried_items_total',
      help: 'Items in those batches',
      registers,
    }),
    messages: new Counter({
      name: 'svc_internal_messages_total',
      help: 'Messages that gateways were handed with their answers',
      registers,
    }),
    admissions: new Counter({
      name: 'svc_internal_admissions_total',
      help: 'Devices that gateways asked about, by standing',
      labelNames: ['standing'],
      registers,
    }),
  }
}
