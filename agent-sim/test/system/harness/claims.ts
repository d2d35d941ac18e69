import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import type { PresenceRow } from './presence.ts'

/** Claims in Redis that are not what Postgres knows: each device is held by one node, at one epoch. */
export async function claimFaults(redisUrl: string, rows: readonly PresenceRow[]): Promise<string[]> {
  const redis = new Redis(redisUrl)
  try {
    const faults = rows.map(async ({ deviceId, node, epoch }) => {
      const [heldBy, at] = await redis.hmget(names.device(deviceId), 'n', 'e')
      if (heldBy === node && Number(at) === epoch) return []
      return [`device ${deviceId} is claimed by ${heldBy} at ${at}, known is ${node} at ${epoch}`]
    })
    return (await Promise.all(faults)).flat()
  } finally {
    redis.disconnect()
  }
}
