import { svc } from '@svc/proto'
import { type Bus, names } from '@svc/proto/bus'
import type { Subscriber } from './relay.ts'

/** Publishes every event on its partner's live channel. A hint for open screens: it never fails. */
export const liveEvents = (bus: Bus): Subscriber => ({
  name: 'live',
  types: 'all',
  receive: async ({ id, type, partnerId, orgId, subjectId, payload, at }) => {
    const message = svc.v1.LiveEvent.encode({
      id,
      type,
      partnerId,
      orgId: orgId ?? '',
      subjectId,
      payload: Buffer.from(JSON.stringify(payload)),
      atMs: at.getTime(),
    })
    await bus.publish(names.events(partnerId), message.finish())
  },
})
