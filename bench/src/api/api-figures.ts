import type { Figure, Measure } from '../method/contract.ts'

const cpu = (name: string): Measure => ({ name, unit: 'CPU-µs', digits: 0 })
const rate = (name: string): Measure => ({ name, unit: 'per second', digits: 0 })
const ms = (name: string): Measure => ({ name, unit: 'ms', digits: 1 })

export const measures: readonly Measure[] = [
  cpu('read: server'),
  cpu('read: Postgres'),
  rate('reads per CPU second'),
  rate('reads per second'),
  cpu('create: server'),
  cpu('create: Postgres'),
  rate('creates per CPU second'),
  rate('creates per second'),
  ms('loop delay p99 at 70 %'),
  ms('loop delay max at 70 %'),
  ms('read p50 at 70 %'),
  ms('read p99 at 70 %'),
]

const reads = {
  id: 'A1',
  side: 'ours',
  peer: 'fastify',
  target: { ratioAtLeast: 0.7 },
  limitedBy:
    'Node, of whose part its own sockets, HTTP and promises are 44 % (9 of them the write of the answer), the driver 20, Fastify and its router 10, the kernel and the area 12, writing the answer as its schema says 5, validation 3, garbage 2, counting the request 1; and row-level security, which makes half as much again of the part of Postgres',
  wouldReach: 'policies that Postgres asks once per statement, and a framework with fewer steps per request',
} as const
const creates = {
  id: 'A2',
  side: 'ours',
  peer: 'pgbench',
  target: { ratioAtLeast: 0.65 },
  limitedBy:
    'Node and its driver, which pgbench does without and whose own work is not counted; then row-level security',
  wouldReach: 'command, event and audit row in one statement, and a round trip for the whole transaction',
} as const

/** Per CPU second of server and Postgres together: what a wall clock says on a quiet machine, and still says on a busy one. */
export const figures: readonly Figure[] = [
  { ...reads, title: 'GET /devices/:id per CPU second, Postgres included', measure: 'reads per CPU second' },
  { ...reads, title: 'GET /devices/:id per second on one core', measure: 'reads per second' },
  {
    ...creates,
    title: 'command create per CPU second, Postgres included',
    measure: 'creates per CPU second',
  },
  { ...creates, title: 'command create per second on one core', measure: 'creates per second' },
  {
    ...creates,
    title: 'command create per CPU second beside raw Fastify: what Node costs is in both',
    measure: 'creates per CPU second',
    peer: 'fastify',
    target: {},
  },
  {
    id: 'A4',
    title: 'event-loop delay p99 of the API at 70 % of saturation',
    measure: 'loop delay p99 at 70 %',
    side: 'ours',
    target: { atMost: 10 },
    limitedBy: 'Postgres on the same core: while it computes nobody else does',
    wouldReach: 'a core for Postgres',
  },
]
