import { type Body, decodeEnvelope, hasTooManyFields, type svc } from '@svc/proto'
import type { Outbound } from '../session/outbound.ts'
import type { Session } from '../session/session.ts'
import type { Trail } from '../session/trail.ts'
import type { Taken } from '../transport/link.ts'
import type { Uplink } from '../uplink/uplink.ts'
import { commandAck, commandProgress, commandResult } from './commands.ts'
import { credentialProposal } from './credential.ts'
import { goodbye } from './goodbye.ts'
import { heartbeat } from './heartbeat.ts'
import { hello } from './hello.ts'
import { inventory } from './inventory.ts'
import { updateStatus } from './update-status.ts'

/** What a handler may use. */
export interface Desk {
  uplink: Uplink
  outbound: Outbound
  trail: Trail
  /** the server's time */
  nowMs: () => number
}

/** One frame's message. Whatever is wrong with it closes its own connection and nothing else. */
export type Handler<K extends Body> = (
  session: Session,
  message: NonNullable<svc.v1.IEnvelope[K]>,
  /** of the whole frame, in bytes */
  size: number,
  desk: Desk,
  /** whoever waits for it to be handed on: passed to the uplink, or called */
  taken: Taken | undefined,
) => void

/** A known kind at the wrong time or in the wrong direction. */
const unexpected = (session: Session) => session.close('UNEXPECTED_FRAME')

/** The whole protocol of an admitted device; a new kind without an entry does not compile. */
const handlers = {
  hello,
  heartbeat,
  commandAck,
  commandProgress,
  commandResult,
  inventory,
  updateStatus,
  credentialProposal,
  goodbye,

  welcome: unexpected,
  heartbeatAck: unexpected,
  command: unexpected,
  commandCancel: unexpected,
  resultAck: unexpected,
  inventoryAck: unexpected,
  updateOffer: unexpected,
  configUpdate: unexpected,
  move: unexpected,
  refused: unexpected,
  credentialStaged: unexpected,
} satisfies { [K in Body]: Handler<K> }

type AnyHandler = (
  session: Session,
  message: unknown,
  size: number,
  desk: Desk,
  taken: Taken | undefined,
) => void

const decode = (frame: Uint8Array): svc.v1.Envelope | undefined => {
  try {
    return decodeEnvelope(frame)
  } catch {
    return undefined
  }
}

/** Hands a frame of an admitted device to the handler of its kind. */
export function route(session: Session, frame: Uint8Array, desk: Desk, taken?: Taken): void {
  // To make objects of millions of empty fields would hold up everybody.
  if (hasTooManyFields(frame)) return session.close('OVERSIZED_FRAME')
  const envelope = decode(frame)
  if (!envelope) return session.close('MALFORMED_FRAME')
  const kind = envelope.body
  if (!kind) return session.close('UNKNOWN_KIND')
  const handle = handlers[kind] as AnyHandler
  handle(session, envelope[kind], frame.length, desk, taken)
}
