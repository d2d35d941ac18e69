import { encodeBody, svc } from '@svc/proto'
import { type Bus, names } from '@svc/proto/bus'

/** A device's connection: on that node, of that epoch. */
export interface Connection {
  deviceId: string
  node: string
  epoch: number
}

/** Where messages to gateways go: the bus, or the answer that a gateway is waiting for. `up`: whether anybody hears them. */
export type Outlet = Pick<Bus, 'publish' | 'up'>

/**
 * Hands a frame to the device's gateway; false when no gateway heard it. May be lost on the way all the same; what must arrive is
 * offered again. Never rejects.
 * @param of the command that it is about, and its trace
 */
export async function deliver(
  outlet: Outlet,
  to: Connection,
  body: Parameters<typeof encodeBody>[0],
  of: Pick<svc.v1.IDeliver, 'commandId' | 'trace'> = {},
): Promise<boolean> {
  const { commandId = '', trace = null } = of
  const deliver = { deviceId: to.deviceId, epoch: to.epoch, frame: encodeBody(body), commandId, trace }
  const message = { deliver }
  const heard = await outlet.publish(names.edge(to.node), svc.v1.EdgeMessage.encode(message).finish())
  return heard > 0
}

/** Ends connections of the device below `belowEpoch` on that node: a newer one has been admitted elsewhere. Never rejects. */
export async function supersede(
  outlet: Outlet,
  { deviceId, node }: Omit<Connection, 'epoch'>,
  belowEpoch: number,
): Promise<void> {
  const message = { disconnect: { deviceId, belowEpoch, reason: svc.v1.CloseReason.SUPERSEDED } }
  await outlet.publish(names.edge(node), svc.v1.EdgeMessage.encode(message).finish())
}
