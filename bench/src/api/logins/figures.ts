import type { Figure, Measure } from '../../method/contract.ts'

const ms = (name: string): Measure => ({ name, unit: 'ms', digits: 1 })

export const measures: readonly Measure[] = [
  ms('health p50'),
  ms('health p99'),
  ms('health max'),
  ms('client late p99'),
  ms('login p50'),
  ms('login p99'),
  { name: 'logins answered', unit: 'per second', digits: 0 },
  { name: 'told to come again', unit: '%', digits: 0 },
  { name: 'memory', unit: 'bytes', digits: 0 },
]

export const figures: readonly Figure[] = [
  {
    id: 'A6',
    title: '/health p99 while 500 log in at once, beside an idle one',
    measure: 'health p99',
    side: 'ours:crowd',
    peer: 'ours:idle',
    target: { atMost: 250 },
    limitedBy:
      'two hashes at a time and Postgres, on the core of the event loop; 500 requests that come at the same moment',
  },
]
