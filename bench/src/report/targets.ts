/** A figure that the product is to reach, whether or not anything measures it yet. */
export interface Target {
  id: string
  /** what is measured */
  what: string
  /** what is asked of it, in words: a bench declares the same as numbers */
  asked: string
}

export interface Group {
  name: string
  targets: readonly Target[]
}

/** All of them, in the order in which people read them. A figure of a result belongs to the target of its id. */
export const groups: readonly Group[] = [
  {
    name: 'Gateway',
    targets: [
      {
        id: 'G1',
        what: 'agents held live for 30 minutes, a heartbeat each minute, presence in Postgres, clients on the same two cores',
        asked: '100,000 over at least 6 workers',
      },
      {
        id: 'G2',
        what: 'memory per connection with a full session, protobuf over WebSocket',
        asked: '≤ 2.0 KB; ≤ 0.35× ws; ≤ 0.35× mosquitto over WebSocket; ≤ 0.15× aedes',
      },
      { id: 'G2t', what: 'the same under TLS 1.3', asked: '≤ 7 KB; ≤ 0.25× node:tls and ws' },
      {
        id: 'G2m',
        what: 'MQTT through the gateway',
        asked:
          'MQTT by aedes: ≤ 1.1× plain aedes; by the lean transport: TCP ≤ 5.5 KB and ≤ 0.35× aedes, WebSocket ≤ 2.4 KB and ≤ 0.17× aedes, QoS 1 CPU ≤ 0.5× aedes',
      },
      {
        id: 'G3',
        what: 'authenticated accept with the claim in Redis, CPU',
        asked: '≤ 125 µs per connect; ≤ 0.2× aedes',
      },
      {
        id: 'G3s',
        what: 'storm: a worker that holds 19,000 is killed, all come back, the first command is delivered',
        asked:
          'p99 ≤ 8 s with a window of 5 s; no read of Postgres and at most one round trip to Redis per reconnect',
      },
      {
        id: 'G4',
        what: 'heartbeat, gateway only',
        asked: '≤ 12 µs CPU; ≤ 0.6× a QoS 0 publish to aedes',
      },
      {
        id: 'G4b',
        what: 'heartbeat to a committed row in a table of a million, CPU of gateway, Redis and Postgres',
        asked: '≤ 50 µs; ≥ 0.7× the same batched UPDATE from a script; staleness p99 ≤ 2 s; HOT ≥ 98 %',
      },
      {
        id: 'G5',
        what: 'command round trip, from the request over device and back to the caller, 19,000 connected',
        asked: 'p50 ≤ 4 ms, p99 ≤ 15 ms; ≤ 2× the sum of its measured parts',
      },
      {
        id: 'G6',
        what: 'fan-out of one command to every agent of a worker',
        asked: '≤ 15 µs CPU per delivery; ≤ 0.5× aedes; ≤ 0.3× mosquitto',
      },
      {
        id: 'G7',
        what: 'relay of 16 KB frames over two legs, on one node and across nodes',
        asked: '≤ 3,300 CPU-µs per MB on one node; a stalled viewer costs ≤ 1 MB and delays no heartbeat',
      },
    ],
  },
  {
    name: 'API',
    targets: [
      {
        id: 'A1',
        what: 'GET /devices/:id with authentication, row-level security and validation',
        asked: '≥ 0.7× raw Fastify with the same SQL and none of that',
      },
      {
        id: 'A2',
        what: 'command create: one transaction with its audit row and its event',
        asked: '≥ 0.65× pgbench with the same transaction',
      },
      {
        id: 'A3',
        what: 'device list by keyset over a million rows, of one tenant and of 1,000, in any sort',
        asked: 'p99 ≤ 15 ms at 200 a second; page 10,000 ≤ 1.2× page 1; ≤ 2× pgbench with the same SQL',
      },
      { id: 'A4', what: 'event-loop delay at 70 % load, API and gateway', asked: 'p99 ≤ 10 ms' },
      {
        id: 'A5',
        what: 'cold start of the whole product with the embedded database, second run',
        asked: '≤ 6 s to the first request served',
      },
      { id: 'A6', what: '/health while 500 log in at once, right and wrong', asked: 'p99 ≤ 250 ms' },
    ],
  },
]
