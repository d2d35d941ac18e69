import type { Figure } from '../method/contract.ts'

/** What is measured of a heartbeat. */
export const names = {
  server: 'CPU per heartbeat',
  all: 'CPU per committed heartbeat',
  perCore: 'committed per core',
  staleness: 'staleness p99',
  hot: 'HOT updates',
  answer: 'answer p99',
  clientDelay: "client's delay p99",
} as const

const worker = {
  limitedBy:
    'what each entry of a shard costs, however few heartbeats it holds: a transaction of two round trips, the look at what is owed, and Redis. The smaller the fleet, the fewer share it',
  wouldReach: 'a fleet of more than 10,000 heartbeats a second',
}

export const figures: Figure[] = [
  {
    id: 'G4',
    title: 'heartbeat, gateway alone',
    measure: names.server,
    side: 'ours',
    peer: 'aedes',
    target: { atMost: 12, ratioAtMost: 0.6 },
    limitedBy:
      'the kernel: each heartbeat is one read and one answer on its own socket. Of what it costs, 5 CPU-µs are the gateway’s own: 3 to decode, queue and answer it, 2 to encode it into the batch of its shard',
    wouldReach:
      'more heartbeats per turn of the event loop; one system call for many sockets, which the engine does not offer',
  },
  {
    id: 'G4b',
    title: 'heartbeat, all in, to a committed row',
    measure: names.all,
    side: 'ours',
    target: { atMost: 50 },
    ...worker,
  },
  {
    id: 'G4b',
    title: 'the same, beside a script with the same UPDATE',
    measure: names.perCore,
    side: 'ours',
    peer: 'floor',
    target: { atLeast: 20_000, ratioAtLeast: 0.7 },
    ...worker,
  },
  {
    id: 'G4b',
    title: 'from the gateway to the committed row',
    measure: names.staleness,
    side: 'ours',
    target: { atMost: 2_000 },
    limitedBy: 'the batch: a heartbeat waits up to a second for it',
  },
  {
    id: 'G4b',
    title: 'updates that touch no index',
    measure: names.hot,
    side: 'ours',
    target: { atLeast: 98 },
    limitedBy: 'room in a page, fillfactor 50, until it is pruned',
  },
]
