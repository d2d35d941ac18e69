import type { Figure, Measure } from '../../method/contract.ts'

const ms = (name: string): Measure => ({ name, unit: 'ms', digits: 2 })

export const measures: readonly Measure[] = [
  ms('round trip p50'),
  ms('round trip p99'),
  ms('round trip max'),
  ms('create p50'),
  { name: 'command', unit: 'CPU-µs', digits: 0 },
  ms('insert'),
  ms('claim'),
  ms('result'),
  ms('read'),
  ms('http'),
  ms('hop'),
  ms('agent'),
]

const common = {
  id: 'G5',
  side: 'ours',
  limitedBy:
    'three transactions one behind the other (create, claim, result), each two round trips to Postgres and a commit to disk; four processes, the database and Redis on one core, so that each of some fourteen hand-overs waits for its turn',
  wouldReach: 'cores for the processes, and a disk that syncs in less than half a millisecond',
} as const

export const figures: readonly Figure[] = [
  { ...common, title: 'command round trip, p50', measure: 'round trip p50', target: { atMost: 4 } },
  { ...common, title: 'command round trip, p99', measure: 'round trip p99', target: { atMost: 15 } },
  {
    ...common,
    title: 'command round trip beside the sum of its parts, p50',
    measure: 'round trip p50',
    peer: 'parts',
    target: { ratioAtMost: 2 },
  },
]
