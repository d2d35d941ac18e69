import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'

/** Of a kind that agents take and do nothing about. */
const heavy = svc.v1.Envelope.encode({
  inventoryAck: { kind: 'heavy', hash: Buffer.alloc(256 * 1024) },
}).finish()

/** Frames of 256 KiB for devices, as the control plane hands them to a gateway. */
export class HeavyFrames {
  readonly #redis: Redis
  readonly #channel: string

  constructor(redisUrl: string, node: string) {
    this.#redis = new Redis(redisUrl)
    this.#channel = names.edge(node)
  }

  /** One for each. */
  async send(deviceIds: readonly string[]): Promise<void> {
    for (const deviceId of deviceIds) {
      const message = { deliver: { deviceId, epoch: 0, frame: heavy } }
      await this.#redis.publish(this.#channel, Buffer.from(svc.v1.EdgeMessage.encode(message).finish()))
    }
  }

  close(): void {
    this.#redis.disconnect()
  }
}
