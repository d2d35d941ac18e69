import { svc } from '@svc/proto'
import { MemoryBus } from '@svc/proto/bus'
import { noTracing } from '@svc/proto/trace'
import { pino } from 'pino'
import { expect, it, vi } from 'vitest'
import { Downlink, type DownlinkDeps } from './downlink.ts'
import { Counters } from './ops/counters.ts'
import { Overtaken } from './session/overtaken.ts'
import { Registry } from './session/registry.ts'
import type { Session } from './session/session.ts'
import { Trail } from './session/trail.ts'

it('an error of ours on the way down is reported, and does not reach the bus', () => {
  const broken = new Error('the wire broke')
  const registry = new Registry()
  registry.settle({ deviceId: 'd', epoch: 1 } as Session)
  const failed = vi.fn<(error: unknown) => void>()
  const downlink = new Downlink({
    bus: new MemoryBus(),
    node: 'n',
    registry,
    outbound: {
      forward: () => {
        throw broken
      },
    } as unknown as DownlinkDeps['outbound'],
    counters: new Counters(),
    trail: new Trail({ log: pino({ level: 'silent' }), tracing: noTracing }),
    overtaken: new Overtaken(),
    evicts: true,
    revoke: async () => {},
    raise: () => {},
    failed,
  })
  const deliver = { deviceId: 'd', epoch: 1, frame: new Uint8Array([1]) }
  downlink.take(svc.v1.EdgeMessage.encode({ deliver }).finish())
  expect(failed).toHaveBeenCalledExactlyOnceWith(broken)
})
