/**
 * What carries messages between gateways and the control plane. Two carriers hold to one contract: Redis, and memory for one
 * process on one machine. Both live here because both sides use them; payloads are protobuf bytes.
 *
 * Published messages may be lost. Stream entries are not: they stay until acknowledged.
 */
export interface Bus {
  /** Fire and forget: resolves with the number of subscribers reached, or 0 when the carrier is away. Never rejects. */
  publish(channel: string, payload: Uint8Array): Promise<number>
  /** Subscribes; survives a reconnect of the carrier. Resolves once active or, with the carrier away, once it is registered. */
  subscribe(channel: string, handler: (payload: Uint8Array) => void): Promise<Unsubscribe>
  /**
   * Appends one entry. Rejects with {@link StreamFull}: nothing was accepted; or with {@link BusDown}: nobody knows, so the sender
   * appends again and readers bear duplicates.
   */
  append(stream: string, payload: Uint8Array): Promise<void>
  /** A consumer of a stream in a group; the group is made when missing, from the oldest entry on. */
  consumer(stream: string, group: string, name: string): Consumer
  /**
   * Whether the carrier answers right now, and what is published is heard here. Each time this becomes true, something may have been
   * published in vain before.
   */
  readonly up: boolean
  /** Called on each change of `up`, and once at the start. */
  onState(handler: (up: boolean) => void): Unsubscribe
  /** Called with why the carrier cannot be used, each time that there is another reason: refused, no such password, hung up. */
  onTrouble?(handler: (error: Error) => void): Unsubscribe
  /** Idempotent. Blocked reads end, subscriptions end. */
  close(): Promise<void>
}

export type Unsubscribe = () => void

export interface Entry {
  id: string
  payload: Uint8Array
}

export interface Consumer {
  /** Takes over what dead consumers of the group left unacknowledged. Call once after becoming the shard's owner. */
  claimAbandoned(): Promise<void>
  /** Own unacknowledged entries first (after a crash or takeover), then new ones; waits up to `blockMs` for one. */
  read(options: { count: number; blockMs: number }): Promise<Entry[]>
  /** The next read starts over with own unacknowledged entries: for a batch whose handling failed. */
  rewind(): void
  /** After the commit. Also trims the stream below the oldest entry still pending. */
  ack(ids: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** The carrier cannot be reached or did not answer in time. Try again later. */
export class BusDown extends Error {
  override name = 'BusDown'
}

/** The stream holds `maxEntries` unconsumed entries: the sender must push back instead of dropping. */
export class StreamFull extends Error {
  override name = 'StreamFull'
}

/** Unconsumed entries a stream may hold before senders are pushed back. */
export const maxEntries = 20_000
