import type { Percentiles } from '../fleet/histogram.ts'
import type { FleetStats, Stats } from '../fleet/stats.ts'

const failures = (outcomes: Record<string, number>): number =>
  Object.entries(outcomes).reduce((sum, [name, count]) => sum + (name === 'SUCCEEDED' ? 0 : count), 0)

/** Whatever went otherwise than it should. */
export const errorsOf = (stats: Stats): number =>
  stats.refused + stats.disowned + stats.trouble + stats.stopped + failures(stats.outcomes)

const tableOf = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name.toLowerCase()} ${count}`)
    .join(', ') || 'none'

const width = 11
const line = (name: string, cells: readonly (string | number)[]): string =>
  `${name.padEnd(12)}${cells.map((cell) => String(cell).padStart(width)).join('')}\n`

const durations = (name: string, { count, p50, p90, p99, max }: Percentiles): string =>
  line(name, [count, p50, p90, p99, max])

/** One line for each transport. */
const transportTable = ({ transports }: FleetStats): string => {
  const head = [
    'agents',
    'connected',
    'connects',
    'lost',
    'heartbeats',
    'commands',
    'errors',
    'beat p50',
    'beat p99',
  ]
  const rows = Object.entries(transports).map(([kind, one]) => {
    const { agents, connected, connects, disconnects, heartbeats, commands, heartbeatMs } = one
    const work = [connects, disconnects, heartbeats, commands, errorsOf(one)]
    return line(kind, [agents, connected, ...work, heartbeatMs.p50, heartbeatMs.p99])
  })
  return `${line('', head)}${rows.join('')}\n`
}

const churnLine = ({ churn: { away, ...mishaps } }: FleetStats): string =>
  Object.values(mishaps).some((count) => count > 0) ? `churn: ${tableOf(mishaps)}; away ${away}\n` : ''

/** What a fleet has done, for people. */
export const summary = (stats: FleetStats): string =>
  [
    `agents ${stats.agents}, enrolled ${stats.enrolled}, connected ${stats.connected}, stopped ${stats.stopped}\n`,
    `connects ${stats.connects}, disconnects ${stats.disconnects} (${tableOf(stats.reasons)}), refused ${stats.refused}\n`,
    `heartbeats ${stats.heartbeats}, answered ${stats.heartbeatAcks}; inventories ${stats.inventories}\n`,
    `commands ${stats.commands}, offered again ${stats.duplicates}; outcomes: ${tableOf(stats.outcomes)}; `,
    `results acked ${stats.resultAcks}; disowned ${stats.disowned}; troubles ${stats.trouble}\n`,
    churnLine(stats),
    '\n',
    transportTable(stats),
    line('ms', ['count', 'p50', 'p90', 'p99', 'max']),
    durations('connect', stats.connectMs),
    durations('heartbeat', stats.heartbeatMs),
    durations('command', stats.commandMs),
  ].join('')
