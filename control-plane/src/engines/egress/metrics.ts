import { Counter, Histogram, type Registry } from 'prom-client'
import type { EgressOptions } from './options.ts'

/** From one answer of a neighbour to the longest wait. */
const buckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Counts calls by how they ended and refused addresses by what they are: never by host, tenant or address. */
export function egressMetrics(registry: Registry): Pick<EgressOptions, 'observe' | 'onDenied'> {
  const registers = [registry]
  const seconds = new Histogram({
    name: 'svc_egress_request_seconds',
    help: 'Time of a call to an address that a tenant may have chosen, waiting for its turn included, by how it ended',
    labelNames: ['outcome'],
    buckets,
    registers,
  })
  const denied = new Counter({
    name: 'svc_egress_denied_total',
    help: 'Addresses that were not asked because they lead to the inside, by what they are',
    labelNames: ['kind'],
    registers,
  })
  return {
    observe: ({ outcome, seconds: took }) => seconds.observe({ outcome }, took),
    onDenied: ({ kind }) => denied.inc({ kind }),
  }
}
