import { type TransportKind, transportKinds } from '@svc/agent-sim'
import type { Sent } from './job.ts'

/** What devices of one transport did. */
export interface TransportReport {
  agents: number
  connected: number
  commands: number
  p50Ms: number
  p99Ms: number
}

export interface DemoReport {
  bus: 'redis' | 'memory'
  transports: Partial<Record<TransportKind, TransportReport>>
  agents: number
  connected: number
  heartbeatsPersisted: number
  commands: { sent: number; succeeded: number; failed: number; p50Ms: number; p99Ms: number }
  offlineCommandRanOnce: boolean
  /** agents that updated themselves */
  updated: number
  errors: string[]
}

/** The smallest value that at least this share of the values does not exceed; 0 of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b)
  const at = Math.max(0, Math.ceil(share * sorted.length) - 1)
  return Math.round((sorted[at] ?? 0) * 10) / 10
}

/**
 * What is wrong with accepted commands, one line each: not in the database, not ended, or not run exactly once by the
 * device's own ledger. `statuses` is the database's word.
 */
export function lostWork(sent: readonly Sent[], statuses: ReadonlyMap<string, string>): string[] {
  return sent.flatMap(({ id, device }) => {
    const status = statuses.get(id)
    if (status === undefined) return [`command ${id} was accepted and is not in the database`]
    const runs = device.executions(id)
    const wrong = status === 'succeeded' ? runs !== 1 : true
    return wrong ? [`command ${id} is ${status} and ran ${runs} times`] : []
  })
}

/**
 * The same figures for each transport.
 * @param vias the transport of each device, by its id
 * @param connected ids of devices that are connected, by the database's word
 */
export function byTransport(
  vias: ReadonlyMap<string, TransportKind>,
  connected: readonly string[],
  sent: readonly Sent[],
): DemoReport['transports'] {
  const kinds = transportKinds.filter((kind) => [...vias.values()].includes(kind))
  const rows = kinds.map((kind) => {
    const took = sent.filter(({ device }) => device.via === kind).map(({ tookMs }) => tookMs)
    return [
      kind,
      {
        agents: [...vias.values()].filter((via) => via === kind).length,
        connected: connected.filter((id) => vias.get(id) === kind).length,
        commands: took.length,
        p50Ms: percentile(took, 0.5),
        p99Ms: percentile(took, 0.99),
      },
    ] as const
  })
  return Object.fromEntries(rows)
}

/** For people. */
export function describeReport({
  bus,
  transports,
  agents,
  connected,
  heartbeatsPersisted,
  commands,
  ...rest
}: DemoReport): string[] {
  const over = Object.entries(transports).map(
    ([kind, { agents, connected, commands, p50Ms, p99Ms }]) =>
      [
        `  over ${kind}`,
        `${connected} of ${agents} connected, ${commands} commands: ${p50Ms} ms, ${p99Ms} ms`,
      ] as const,
  )
  const rows = [
    ['bus', bus],
    ['agents', agents],
    ['connected', connected],
    ...over,
    ['contacts seen in Postgres', heartbeatsPersisted],
    ['commands accepted', commands.sent],
    ['  succeeded', commands.succeeded],
    ['  failed', commands.failed],
    ['  median, p99', `${commands.p50Ms} ms, ${commands.p99Ms} ms`],
    ['offline command ran once', rest.offlineCommandRanOnce ? 'yes' : 'no'],
    ['errors', rest.errors.length],
  ] as const
  return [
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(28)}${value}`),
    ...rest.errors.map((error) => `  ${error}`),
    '',
  ]
}
