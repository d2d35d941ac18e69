import { limits } from '../ops/limits.ts'
import type { Handler } from './router.ts'

/** Answered at once by the gateway itself; what it says goes up with the next batch. */
export const heartbeat: Handler<'heartbeat'> = (
  session,
  message,
  size,
  { uplink, outbound, nowMs },
  taken,
) => {
  // One of each device is held while the bus is away: their size is what that costs.
  if (size > limits.maxHeartbeatBytes) return session.close('OVERSIZED_FRAME')
  uplink.push(session.deviceId, session.epoch, { heartbeat: message }, size, taken)
  outbound.send(session, {
    seq: session.next(),
    heartbeatAck: {
      serverTimeMs: nowMs(),
      nextIntervalMs: session.heartbeatIntervalMs,
      owed: outbound.held(session),
    },
  })
}
