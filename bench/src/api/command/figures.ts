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
    'four processes, the database and Redis on one core: each hands over to the next and waits for its turn; three commits to disk',
  wouldReach: 'fewer statements in each of the three transactions, and cores for the processes',
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
