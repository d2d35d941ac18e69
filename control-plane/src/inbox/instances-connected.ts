import { svc } from '@svc/proto'
import { storable } from '../db/array-literal.ts'
import type { Sighting } from '../engines/identity/sighting.ts'
import type { Item } from './item.ts'

/** Who connected as which device, in the order in which they were let in: of their connections gateways tell each in its own time. */
export const instancesConnected = (items: readonly Item[]): Sighting[] =>
  items
    .flatMap(({ deviceId, epoch, receivedAtMs, up: { session } }) => {
      if (session?.kind !== svc.v1.SessionEvent.Kind.CONNECTED) return []
      const instance = storable((session.hello?.instanceId ?? '').slice(0, 64))
      return [{ deviceId, epoch, instance, atMs: receivedAtMs, mayFollow: session.via === 'mqtt' }]
    })
    .toSorted((a, b) => a.epoch - b.epoch)
