import { Redis, type RedisOptions } from 'ioredis'

/** A Redis that has not answered a plain command by then counts as away. */
export const answerWithinMs = 2000

/** Back to a returning server within about a second, without a herd of processes knocking in step. */
const retryStrategy = (attempt: number) =>
  Math.min(1000, 50 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2)

/**
 * One connection. Commands fail at once while it is away instead of piling up in memory: each caller has its own plan for that.
 */
export const connection = (url: string, options: RedisOptions = {}): Redis => {
  const settings: RedisOptions = {
    retryStrategy,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: answerWithinMs,
    keepAlive: 10_000,
    ...options,
  }
  const redis = new Redis(url, { ...settings, replyMapping: 'legacy' })
  // Without a listener ioredis prints; the state is seen through 'ready' and 'close'.
  redis.on('error', () => {})
  return redis
}
