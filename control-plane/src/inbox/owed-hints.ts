import { names, shardOf, type Unsubscribe } from '@svc/proto/bus'
import { isUuid } from '../db/uuid.ts'
import { readHint } from '../engines/work/hints.ts'
import { offerTo } from '../engines/work/offer.ts'
import type { StreamDeps } from './inbox.ts'

/**
 * Offers at once what hints say is owed to devices of this worker's shards. Hints that come while an offer is being made are
 * gathered into the next one. Resolves with how to end it, which waits for the offer in hand.
 */
export async function followOwedHints(
  deps: StreamDeps,
  owns: (shard: number) => boolean,
): Promise<() => Promise<void>> {
  let gathered = new Set<string>()
  let running: Promise<void> | undefined

  const drain = async () => {
    while (gathered.size > 0) {
      const ids = [...gathered]
      gathered = new Set()
      // Only a hint: the next heartbeat offers it too.
      await offerTo(deps.db, deps.ports, ids).catch((error: unknown) =>
        deps.log.warn({ err: error, devices: ids.length }, 'commands were not offered at once'),
      )
    }
    running = undefined
  }
  const take = (payload: Uint8Array) => {
    const hint = readHint(payload)
    if (hint.releasesChanged) deps.ports.updates.releases.forget()
    for (const id of hint.owedDevices) if (isUuid(id) && owns(shardOf(id))) gathered.add(id)
    if (gathered.size > 0) running ??= drain()
  }
  const unsubscribe: Unsubscribe = await deps.ports.bus.subscribe(names.workAll(), take)
  return async () => {
    unsubscribe()
    await running
  }
}
