import type { Handler } from './router.ts'

/** How the agent's own update goes. */
export const updateStatus: Handler<'updateStatus'> = (session, message, size, { uplink }, taken) => {
  uplink.push(session.deviceId, session.epoch, { updateStatus: message }, size, taken)
}
