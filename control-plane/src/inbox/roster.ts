import { fairShare, leave, release, renew, type ShardLease, take } from './lease.ts'
import type { StreamDeps } from './inbox.ts'
import { Pauses } from './pause.ts'
import { Shard } from './shard.ts'

/**
 * The shards that this worker owns. Every `workerRenewMs` it renews its leases, counts who else is alive, gives back what is more
 * than its share and takes what is free: workers that come and go are noticed within a lease.
 */
export class Roster {
  readonly #deps: StreamDeps
  readonly #owner: string
  readonly #shards = new Map<number, Shard>()
  readonly #pauses = new Pauses()
  #done: Promise<void> = Promise.resolve()

  constructor(deps: StreamDeps, owner: string) {
    this.#deps = deps
    this.#owner = owner
  }

  /** First round, then one every `workerRenewMs`. */
  async start(): Promise<void> {
    await this.#round()
    this.#done = this.#keep()
  }

  owns(shard: number): boolean {
    return this.#shards.has(shard)
  }

  /** Idempotent. Finishes the batches in hand, then gives everything back. */
  async close(): Promise<void> {
    this.#pauses.stop()
    await this.#done
    await this.#stop([...this.#shards.keys()])
    await this.#deps.db
      .tx((tx) => leave(tx, this.#owner))
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'leases were not given back; they run out'),
      )
  }

  async #keep(): Promise<void> {
    for (;;) {
      await this.#pauses.wait(this.#deps.ports.config.pipeline.workerRenewMs)
      if (this.#pauses.stopped) return
      await this.#round()
    }
  }

  async #round(): Promise<void> {
    try {
      await this.#dropLost()
      const share = await this.#deps.db.tx((tx) => fairShare(tx, this.#owner))
      await this.#giveBack(share)
      await this.#takeFree(share)
    } catch (error) {
      // The leases are not renewed: their batches still check for themselves whose shard it is.
      this.#deps.log.error({ err: error }, 'shard leases could not be renewed; trying again')
    }
  }

  async #dropLost(): Promise<void> {
    const { db, ports } = this.#deps
    const kept = await db.tx((tx) => renew(tx, this.#owner, ports.config.pipeline))
    await this.#stop([...this.#shards.keys()].filter((shard) => !kept.has(shard)))
    // Ours by the table, but not worked on: a shard that stopped by itself.
    const idle = [...kept].filter((shard) => !this.#shards.has(shard))
    if (idle.length > 0) await db.tx((tx) => release(tx, this.#owner, idle))
  }

  async #giveBack(share: number): Promise<void> {
    const surplus = [...this.#shards.keys()].slice(share)
    if (surplus.length === 0) return
    await this.#stop(surplus)
    await this.#deps.db.tx((tx) => release(tx, this.#owner, surplus))
    this.#deps.log.info({ shards: surplus }, 'shards were given back')
  }

  async #takeFree(share: number): Promise<void> {
    const { db, ports, log } = this.#deps
    const wanted = share - this.#shards.size
    if (wanted <= 0) return
    const taken = await db.tx((tx) => take(tx, this.#owner, wanted, ports.config.pipeline))
    // Ours had run out unnoticed, and may be ours again: one consumer per shard, under the newest fence.
    await this.#stop(taken.map((lease) => lease.shard))
    for (const lease of taken) this.#shards.set(lease.shard, this.#open(lease))
    if (taken.length > 0) log.info({ shards: taken.map((lease) => lease.shard) }, 'shards were taken')
  }

  #open(lease: ShardLease): Shard {
    const shard: Shard = new Shard(this.#deps, lease, () => {
      if (this.#shards.get(lease.shard) === shard) this.#shards.delete(lease.shard)
    })
    return shard
  }

  async #stop(shards: readonly number[]): Promise<void> {
    const stopping = shards.flatMap((shard) => this.#shards.get(shard) ?? [])
    for (const shard of shards) this.#shards.delete(shard)
    await Promise.all(stopping.map((shard) => shard.stop()))
  }
}
