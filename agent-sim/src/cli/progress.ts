import type { Percentiles } from '../fleet/histogram.ts'
import type { FleetStats } from '../fleet/stats.ts'
import { errorsOf } from './report.ts'

const bars = '▁▂▃▄▅▆▇█'

/** A bar for each value, as high as it is beside the largest. */
export function trend(values: readonly number[]): string {
  const most = Math.max(...values, 0)
  const height = (value: number) => (most === 0 ? 0 : Math.round((value / most) * (bars.length - 1)))
  return values.map((value) => bars.charAt(height(value))).join('')
}

export interface Moment {
  stats: FleetStats
  /** heartbeats in each of the last seconds, the newest last */
  beats: readonly number[]
  /** how long answers to heartbeats took lately */
  heartbeatMs: Percentiles
}

/** What a fleet does right now, the most telling first: what does not fit into `columns` is left out, the last first. */
export function progressLine(
  { stats, beats, heartbeatMs }: Moment,
  columns = Number.POSITIVE_INFINITY,
): string {
  const { connectMs } = stats
  const parts = [
    `connected ${stats.connected}/${stats.agents}${byTransport(stats)}`,
    `heartbeats ${beats.at(-1) ?? 0}/s ${trend(beats)}`.trimEnd(),
    `commands ${stats.commands}`,
    `errors ${errorsOf(stats)}`,
    `answers p50 ${heartbeatMs.p50}, p99 ${heartbeatMs.p99} ms`,
    ...awayOf(stats),
    `connect p50 ${connectMs.p50}, p99 ${connectMs.p99} ms`,
  ]
  while (parts.length > 1 && parts.join(' · ').length >= columns) parts.pop()
  return parts.join(' · ')
}

const byTransport = ({ transports }: FleetStats): string => {
  const kinds = Object.entries(transports)
  if (kinds.length < 2) return ''
  return ` (${kinds.map(([kind, { connected }]) => `${kind} ${connected}`).join(', ')})`
}

const awayOf = ({ churn }: FleetStats): string[] =>
  churn.leave + churn.crash + churn.network > 0 ? [`away ${churn.away}`] : []
