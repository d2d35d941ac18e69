import { svc, withSeq } from '@svc/proto'
import { count, type Counters } from '../ops/counters.ts'
import type { Limits } from '../ops/limits.ts'
import type { Session } from './session.ts'

/** An envelope of our own, with its number: {@link Session.next}. */
export type Numbered = svc.v1.IEnvelope & { seq: number }

/**
 * Frames on their way down. What a slow peer has not taken is bounded in bytes (by the link) and in frames; beyond that the peer
 * is closed, so that what it was sent comes again on a connection that works: a frame is never dropped alone.
 */
export class Outbound {
  readonly #limits: Limits
  readonly #counters: Counters

  constructor(limits: Limits, counters: Counters) {
    this.#limits = limits
    this.#counters = counters
  }

  /** An envelope of our own. It comes as one literal: objects put together by spreading cost the encoder eight times as much. */
  send(session: Session, envelope: Numbered): void {
    this.#push(session, svc.v1.Envelope.encode(envelope).finish())
  }

  /** An encoded envelope without its `seq`, from the control plane. */
  forward(session: Session, body: Uint8Array): void {
    this.#push(session, withSeq(session.next(), body))
  }

  /** Frames held for a peer, as far as known. */
  held(session: Session): number {
    if (session.held > 0 && session.link.backlog === 0) session.held = 0
    return session.held
  }

  #push(session: Session, frame: Uint8Array): void {
    const full =
      session.held >= this.#limits.maxBacklogFrames && this.held(session) >= this.#limits.maxBacklogFrames
    const outcome = full ? 'dropped' : session.link.send(frame)
    if (outcome === 'dropped') {
      count(this.#counters.dropped, 'backpressure')
      return session.close('BACKPRESSURE')
    }
    this.#counters.framesDown++
    this.#counters.bytesDown += frame.length
    if (outcome === 'queued') {
      session.held++
      this.#counters.framesQueued++
    }
  }
}
