import { svc } from '@svc/proto'
import { type Entry, shardCount, shardOf } from '@svc/proto/bus'
import { isUuid } from '../db/uuid.ts'

/** One thing that a gateway handed up. */
export interface Item {
  /** the gateway it came from */
  node: string
  deviceId: string
  epoch: number
  receivedAtMs: number
  up: svc.v1.UpItem
}

/** How far what a node says of a shard is complete. In the order in which it was said. */
export interface Mark {
  shard: number
  node: string
  throughMs: number
}

/** What entries hold, once decoded: all that can be worked on, and why the rest cannot. */
export interface Batch {
  items: Item[]
  marks: Mark[]
  rejects: { reason: 'undecodable' | 'malformed' | 'wrong_shard'; detail: string }[]
}

/** Decodes entries of `shard`, in order. Never throws: what cannot be read is named in `rejects`. */
export function decodeEntries(shard: number, entries: readonly Entry[]): Batch {
  const batch: Batch = { items: [], marks: [], rejects: [] }
  for (const entry of entries) addEntry(batch, shard, entry)
  return batch
}

/** The same of batches that a gateway carried up itself: entries that never stood in a stream. In order per shard. */
export function decodeCarried(carried: readonly svc.v1.IShardBatch[]): Batch {
  const all: Batch = { items: [], marks: [], rejects: [] }
  for (const { shard, batch } of carried) {
    if ((shard ?? 0) < shardCount)
      addEntry(all, shard ?? 0, { id: 'carried', payload: batch ?? new Uint8Array() })
    else all.rejects.push({ reason: 'wrong_shard', detail: `a batch of shard ${shard}` })
  }
  return all
}

function addEntry(batch: Batch, shard: number, entry: Entry): void {
  const up = decode(entry)
  if (!up) {
    const detail = `entry ${entry.id}, ${entry.payload.length} bytes`
    batch.rejects.push({ reason: 'undecodable', detail })
    return
  }
  for (const item of up.items) addItem(batch, shard, up.node, svc.v1.UpItem.create(item))
  if (up.node && Number.isSafeInteger(up.completeThroughMs) && up.completeThroughMs > 0) {
    batch.marks.push({ shard, node: up.node, throughMs: up.completeThroughMs })
  }
}

function decode(entry: Entry): svc.v1.UpBatch | undefined {
  try {
    return svc.v1.UpBatch.decode(entry.payload)
  } catch {
    return undefined
  }
}

function addItem(batch: Batch, shard: number, node: string, up: svc.v1.UpItem): void {
  const { deviceId, epoch, receivedAtMs } = up
  if (!isUuid(deviceId) || !Number.isSafeInteger(epoch) || !Number.isSafeInteger(receivedAtMs) || !node) {
    batch.rejects.push({
      reason: 'malformed',
      detail: `from ${node}: device ${JSON.stringify(deviceId)}, epoch ${epoch}`,
    })
  } else if (shardOf(deviceId) !== shard) {
    batch.rejects.push({
      reason: 'wrong_shard',
      detail: `from ${node}: device ${deviceId} in shard ${shard}`,
    })
  } else {
    batch.items.push({ node, deviceId, epoch, receivedAtMs, up })
  }
}
