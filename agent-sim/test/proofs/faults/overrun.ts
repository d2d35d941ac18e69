import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { until } from '../../system/harness/until.ts'

/** No message that a gateway knows: the first byte is a field without a number. */
const junk = Buffer.alloc(1024 * 1024, 0)
/** More than sockets hold of it. */
const firstMiB = 16
/** With which Redis has more than it keeps for a listener (redis.conf, client-output-buffer-limit pubsub 32mb). */
const moreMiB = 40

/**
 * Floods the channel of a gateway that does not read until Redis cuts it off. What `amid` has published to it lies in the buffer then,
 * and is lost with it. Resolves with what came of that, and whether it was cut.
 */
export async function overrun<T>(
  redisUrl: string,
  node: string,
  amid: () => Promise<T>,
): Promise<{ result: T; gone: boolean }> {
  const redis = new Redis(redisUrl)
  const listeners = async () => {
    const [, count] = (await redis.call('PUBSUB', 'NUMSUB', names.edge(node))) as [string, number]
    return count
  }
  const flood = async (mib: number) => {
    for (let n = 0; n < mib; n++) await redis.publish(names.edge(node), junk)
  }
  try {
    await flood(firstMiB)
    const result = await amid()
    await flood(moreMiB)
    const gone = await until('it is cut off', async () => (await listeners()) === 0, 5_000).then(
      () => true,
      () => false,
    )
    return { result, gone }
  } finally {
    redis.disconnect()
  }
}
