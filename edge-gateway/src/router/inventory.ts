import type { Handler } from './router.ts'

const sha256Bytes = 32

/** One kind of inventory. The agent sends it until the control plane's InventoryAck. */
export const inventory: Handler<'inventory'> = (session, message, size, { uplink }, taken) => {
  const known = message.hardware ?? message.os ?? message.disks ?? message.network ?? message.software
  if (known && message.hash?.length !== sha256Bytes) return session.close('MALFORMED_FRAME')
  // A kind that only newer agents know is nothing to us, and no fault of theirs.
  if (known) uplink.push(session.deviceId, session.epoch, { inventory: message }, size, taken)
  else taken?.(true)
}
