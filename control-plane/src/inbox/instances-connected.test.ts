import { svc } from '@svc/proto'
import { expect, test } from 'vitest'
import { instancesConnected } from './instances-connected.ts'

const { Kind } = svc.v1.SessionEvent

const item = (node: string, epoch: number, kind: svc.v1.SessionEvent.Kind, instanceId = '') => ({
  node,
  deviceId: 'd',
  epoch,
  receivedAtMs: 1_000 + epoch,
  up: svc.v1.UpItem.create({ session: { kind, hello: { instanceId }, via: 'mqtt' } }),
})

test('connections come in the order in which they were let in, whichever gateway told of its own first', () => {
  const items = [
    item('one', 1, Kind.CONNECTED, 'a'),
    item('one', 1, Kind.DISCONNECTED),
    item('one', 3, Kind.CONNECTED),
    item('one', 3, Kind.CONNECTED, 'a'),
    item('two', 2, Kind.CONNECTED, 'b'),
  ]
  expect(instancesConnected(items).map(({ epoch, instance }) => [epoch, instance])).toEqual([
    [1, 'a'],
    [2, 'b'],
    [3, ''],
    [3, 'a'],
  ])
})
