import { type CloseReason, svc } from '@svc/proto'
import type { Handler } from './router.ts'

/** What an agent may give as its reason. Only the first two make the device offline at once (interface §Presence). */
const ours: ReadonlySet<CloseReason> = new Set(['SHUTDOWN', 'UNINSTALL', 'DRAINING'])

/** The agent leaves and says why. */
export const goodbye: Handler<'goodbye'> = (session, message) => {
  const reason = svc.v1.CloseReason[message.reason ?? 0] as CloseReason | undefined
  session.close(reason && ours.has(reason) ? reason : 'PEER_CLOSED')
}
