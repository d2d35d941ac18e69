import type { Figure, Measure } from '../../method/contract.ts'

export const measures: readonly Measure[] = [
  { name: 'write p50', unit: 'ms', digits: 2 },
  { name: 'write p99', unit: 'ms', digits: 1 },
  { name: 'write max', unit: 'ms', digits: 0 },
  { name: 'Postgres per row', unit: 'CPU-µs', digits: 0 },
  { name: 'worker per row', unit: 'CPU-µs', digits: 0 },
  { name: 'rows left', unit: 'count', digits: 0 },
]

const sides = { side: 'ours:sealing', peer: 'ours:resting' }

export const figures: readonly Figure[] = [
  {
    id: 'A7',
    title: 'a write of the audit log while rows are sealed, beside one while none are: p50',
    measure: 'write p50',
    ...sides,
    target: { ratioAtMost: 1.1 },
    limitedBy: 'the commit of the write; no row or lock is shared with the sealer',
  },
  {
    id: 'A7',
    title: 'the same: p99',
    measure: 'write p99',
    ...sides,
    target: { ratioAtMost: 1.5 },
    limitedBy:
      'one core for the database and the worker: a write that comes while rows are hashed waits for its turn on it',
  },
]
