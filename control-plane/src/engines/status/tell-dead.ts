import { type CloseReason, svc } from '@svc/proto'
import { type Bus, names } from '@svc/proto/bus'
import type { DeadCredential } from './credentials.ts'

/**
 * Tells all gateways at once what they would read from the exchange within two seconds. Call after the commit. Never rejects.
 * @param reason as in the row that was written
 */
export async function tellDead(
  bus: Pick<Bus, 'publish'>,
  dead: readonly DeadCredential[],
  reason: CloseReason,
): Promise<void> {
  for (const one of dead) {
    const revocation = { ...one, reason: svc.v1.CloseReason[reason] }
    await bus.publish(names.edgeAll(), svc.v1.EdgeMessage.encode({ revocation }).finish())
  }
}
