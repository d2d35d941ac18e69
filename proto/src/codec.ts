import { svc } from './gen/svc.js'

/** A frame larger than this closes its connection: 4 MiB holds two kept output streams of 1 MiB and their result. */
export const maxFrameBytes = 4 * 1024 * 1024
/** Before a device is known it gets no more than this. */
export const maxHelloBytes = 16 * 1024
/** Bytes of each output stream that are kept (decisions, numbers). */
export const maxOutputBytes = 1024 * 1024

/** Versions of the agent protocol that this code speaks. */
export const protocol = { min: 1, max: 1 } as const

export type Body = NonNullable<svc.v1.Envelope['body']>

/** What an agent may send, with its number in Envelope: told to it in `Welcome.up_kinds`. */
export const upKinds = {
  hello: 2,
  heartbeat: 3,
  commandAck: 4,
  commandProgress: 5,
  commandResult: 6,
  inventory: 7,
  updateStatus: 9,
  goodbye: 12,
  credentialProposal: 13,
} as const satisfies { [K in Body]?: number }

/** What a gateway takes that does not say so: it closes a connection on which anything else comes. */
const firstUpKinds = [2, 3, 4, 5, 6, 7, 12]

/** The kinds that a gateway takes, by its Welcome. A newer one may take some that this side does not know. */
export const takenBy = (told: readonly number[] | null | undefined): ReadonlySet<number> =>
  new Set(told && told.length > 0 ? told : firstUpKinds)

/** Encodes an envelope without its `seq`: what travels inside `Deliver`, and what {@link withSeq} completes. */
export const encodeBody = (body: Omit<svc.v1.IEnvelope, 'seq'>): Uint8Array =>
  svc.v1.Envelope.encode(body as svc.v1.IEnvelope).finish()

/** Field 1 of Envelope, a varint. */
const seqTag = 0x08

/**
 * Writes `seq` in front of an encoded body. Fields of a protobuf message may stand in any order and concatenation merges, so no
 * decoding is needed (protobuf encoding, §Message Structure). By hand, as each delivery does this: the generated encoder takes
 * five times as long.
 */
export const withSeq = (seq: number, body: Uint8Array): Uint8Array => {
  let headBytes = 2
  for (let rest = seq; rest >= 0x80; rest = Math.floor(rest / 0x80)) headBytes++
  const frame = Buffer.allocUnsafe(headBytes + body.length)
  frame[0] = seqTag
  let rest = seq
  for (let at = 1; at < headBytes; at++) {
    frame[at] = (rest % 0x80) | (at < headBytes - 1 ? 0x80 : 0)
    rest = Math.floor(rest / 0x80)
  }
  frame.set(body, headBytes)
  return frame
}

/** Decodes a frame. Throws on malformed bytes; unknown fields and enum values are kept or ignored. */
export const decodeEnvelope = (frame: Uint8Array): svc.v1.Envelope => svc.v1.Envelope.decode(frame)
