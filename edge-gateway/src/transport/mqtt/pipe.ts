import type { CloseReason } from '@svc/proto'

/** What carries the bytes of one MQTT connection: a socket, or the messages of a WebSocket. Packets may span or share its portions. */
export interface Pipe {
  /** Who is told of what comes; handed on when it is known who that is. */
  receiver: Receiver | undefined
  /** Never throws. `done`: the bytes are on the wire; called before this returns or later, but not once the pipe has ended. */
  write(bytes: Uint8Array, done: () => void): void
  /** Asks for nothing more for now. Where the engine cannot do that, it comes all the same. */
  pause(): void
  resume(): void
  /** Ends it behind what was written, and says why where there are words for it. Idempotent. */
  end(reason: CloseReason): void
  /** Ends it at once. Idempotent. */
  destroy(): void
}

/** Called in order, and never from inside a call of the pipe's. */
export interface Receiver {
  /** The bytes are the receiver's to keep. */
  arrived(bytes: Buffer): void
  /** It has ended, by whomever: once, and the last call. The reason is that of the pipe, as long as nobody on this side ended it. */
  lost(reason: CloseReason): void
}

/** Where MQTT connections are taken in, whatever carries them. */
export interface Entrance {
  /** Asked before a connection is upgraded; otherwise the HTTP status to turn it away with. */
  open(): true | 503
  take(pipe: Pipe, address: string): void
}
