import type { CloseReason } from '@svc/proto'

/** What a transport tells about one connection. After `closed` it says nothing more. */
export interface ConnectionHandlers {
  opened(): void
  frame(bytes: Uint8Array): void
  /** `detail` is for the log: what the other side or the network said. */
  closed(reason: CloseReason, detail: string, retryAfterMs?: number): void
}

/** One connection, from the attempt on. No method throws. */
export interface Connection {
  /** @param fleeting its loss harms nobody: a wire that acknowledges frames need not do so with this one */
  send(frame: Uint8Array, fleeting?: boolean): void
  /** Bytes that were given to `send` and have not left yet or, where the wire acknowledges frames, are not acknowledged. */
  readonly buffered: number
  /** Polite end: the other side learns the reason. Everything sent before is delivered first. */
  close(reason: CloseReason): void
  /** Cuts the wire, as a crash would. */
  drop(): void
}

/** A way to the gateway; all that an agent knows about a wire. */
export interface Transport {
  connect(handlers: ConnectionHandlers): Connection
}
