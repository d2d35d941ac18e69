import type { Figure, Measure } from '../../method/contract.ts'

export const measures: readonly Measure[] = [
  { name: 'list p50', unit: 'ms', digits: 1 },
  { name: 'list p99', unit: 'ms', digits: 1 },
  { name: 'list max', unit: 'ms', digits: 1 },
  { name: 'page', unit: 'CPU-µs', digits: 0 },
  { name: 'page: Postgres', unit: 'CPU-µs', digits: 0 },
  { name: 'one page p50', unit: 'ms', digits: 2 },
  { name: 'one page', unit: 'CPU-µs', digits: 0 },
]

const json =
  'fifty devices of thirty-five fields: Postgres writes them as JSON, which is a third of its part, and row-level security; in Node sockets, the driver and the framework'
const cheaper = 'fewer fields on a page, or their JSON kept beside the rows'

const of = (tenants: 'one' | 'many', name: string): readonly Figure[] => [
  {
    id: 'A3',
    title: `device list p99 at 200 a second, any sort, ${name}`,
    measure: 'list p99',
    side: `ours:${tenants}`,
    peer: `pgbench:${tenants}`,
    target: { atMost: 15, ratioAtMost: 2 },
    limitedBy: json,
    wouldReach: cheaper,
  },
  {
    id: 'A3',
    title: `one page of the device list, CPU of server and Postgres, ${name}`,
    measure: 'page',
    side: `ours:${tenants}`,
    peer: `pgbench:${tenants}`,
    target: { ratioAtMost: 2 },
    limitedBy: json,
    wouldReach: cheaper,
  },
]

export const figures: readonly Figure[] = [
  ...of('one', 'one tenant'),
  ...of('many', '1,000 tenants'),
  {
    id: 'A3',
    title: 'page 10,000 beside page 1, CPU, one tenant',
    measure: 'one page',
    side: 'ours:one:deep',
    peer: 'ours:one:first',
    target: { ratioAtMost: 1.2 },
    limitedBy: 'finding in its index where a page begins, and its fifty devices as JSON',
  },
  {
    id: 'A3',
    title: 'page 10,000 beside page 1, time to its last byte, one tenant',
    measure: 'one page p50',
    side: 'ours:one:deep',
    peer: 'ours:one:first',
    target: { ratioAtMost: 1.2 },
    limitedBy: 'finding in its index where a page begins, and its fifty devices as JSON',
  },
]
