import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'

/** What a script needs to tell a node that it has lost a device: the channel without the node, the message around the epoch. */
export type Telling = readonly [channel: string, head: Buffer, tail: Buffer]

/** Stands for the epoch: the only one of its eight bytes, and none of them is in a device's id. */
const placeholder = 2 ** 55
const placeholderBytes = Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40])

/** The parts of `Disconnect`, superseded, of that device. The epoch is known to the script alone. */
export function tellingOf(deviceId: string): Telling {
  const disconnect = { deviceId, belowEpoch: placeholder, reason: svc.v1.CloseReason.SUPERSEDED }
  const message = Buffer.from(svc.v1.EdgeMessage.encode({ disconnect }).finish())
  const at = message.indexOf(placeholderBytes)
  return [names.edge(''), message.subarray(0, at), message.subarray(at + placeholderBytes.length)]
}
