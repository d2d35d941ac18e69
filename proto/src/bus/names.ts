/** Every channel, stream and key name that crosses Redis. Built here and nowhere else. */

/** Up-streams: devices are spread over this many; each has one consumer at a time. */
export const shardCount = 16

/** The shard of a device: the last hex digit of its id (version 7 ids are random there). */
export const shardOf = (deviceId: string): number => Number.parseInt(deviceId.slice(-1), 16)

export const names = {
  /** pub/sub: frames and orders for one gateway node */
  edge: (node: string) => `edge:${node}`,
  /** pub/sub: orders for all gateways */
  edgeAll: () => 'edge:all',
  /** pub/sub: hints for one API process, such as "command finished" */
  api: (node: string) => `api:${node}`,
  /** pub/sub: hints for all API processes, such as "epochs of user changed" */
  apiAll: () => 'api:all',
  /** pub/sub: hints for all workers, such as "this device is owed a command" */
  workAll: () => 'work:all',
  /** pub/sub: a partner's events, live */
  events: (partnerId: string) => `events:${partnerId}`,
  /** stream: what gateways hand up, one per shard */
  up: (shard: number) => `up:${shard}`,
  /** hash: a device's profile and live claim, owned by the gateways */
  device: (deviceId: string) => `dev:${deviceId}`,
  /** the one consumer group of the up-streams */
  upGroup: () => 'inbox',
} as const
