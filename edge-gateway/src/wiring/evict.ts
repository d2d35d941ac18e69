import { svc } from '@svc/proto'
import { type Bus, names } from '@svc/proto/bus'

/** Tells another node that its connection of a device is superseded, if that has a lower epoch than this. */
export function evictFrom(bus: Bus, node: string, deviceId: string, belowEpoch: number): void {
  const disconnect = { deviceId, belowEpoch, reason: svc.v1.CloseReason.SUPERSEDED }
  void bus.publish(names.edge(node), svc.v1.EdgeMessage.encode({ disconnect }).finish())
}
