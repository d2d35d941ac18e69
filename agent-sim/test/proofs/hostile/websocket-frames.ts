import { encodeBody, withSeq } from '@svc/proto'
import { clientFrame } from '../../../../bench/src/wire/websocket.ts'

const beat = Buffer.from(withSeq(2, encodeBody({ heartbeat: {} })))
/** @param head of the two bytes before the mask, which is zero */
const frame = (
  head: readonly [number, number],
  payload: Uint8Array,
  mask: readonly number[] = [0, 0, 0, 0],
) => Buffer.concat([Buffer.from([...head, ...mask]), payload])

/** What is wrong with WebSocket frames themselves (RFC 6455 §5). The engine ends those that nobody can say a word about. */
export const webSocketFrames: Record<string, { bytes: Buffer; fate: string }> = {
  'a text message': { bytes: clientFrame(Buffer.from('hello'), 1), fate: 'MALFORMED_FRAME' },
  'a message larger than any': {
    bytes: clientFrame(Buffer.alloc(4 * 1024 * 1024 + 1)),
    fate: 'OVERSIZED_FRAME',
  },
  'a reserved bit': { bytes: frame([0xc2, 0x80 | beat.length], beat), fate: 'closed' },
  'an opcode that is reserved': { bytes: frame([0x83, 0x80 | beat.length], beat), fate: 'closed' },
  // The engine takes its first bytes for the mask, and waits for what is then missing.
  'no mask': { bytes: frame([0x82, beat.length], beat, []), fate: 'unheard' },
  'a length that nobody has': {
    bytes: Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1]),
    fate: 'closed',
  },
  'a length beyond the limit': {
    bytes: Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1]),
    fate: 'closed',
  },
  'a ping that is too long': { bytes: clientFrame(Buffer.alloc(126), 9), fate: 'closed' },
  'a ping in pieces': { bytes: frame([0x09, 0x80], Buffer.alloc(0)), fate: 'closed' },
  'a piece of nothing': { bytes: frame([0x80, 0x80 | beat.length], beat), fate: 'closed' },
  'a message within another': {
    bytes: Buffer.concat([frame([0x02, 0x81], beat.subarray(0, 1)), clientFrame(beat)]),
    fate: 'closed',
  },
  'a close with half a code': { bytes: clientFrame(Buffer.from([3]), 8), fate: 'closed' },
  'a close with a code of its own making': { bytes: clientFrame(Buffer.from([0, 1]), 8), fate: 'closed' },
  'a pong that nobody asked for': { bytes: clientFrame(Buffer.from('x'), 10), fate: 'kept' },
}

/** A message in pieces, with a ping in between, is a message. */
export const inPieces = (payload: Buffer): Buffer =>
  Buffer.concat([
    frame([0x02, 0x80 | 1], payload.subarray(0, 1)),
    clientFrame(Buffer.from('p'), 9),
    frame([0x80, 0x80 | (payload.length - 1)], payload.subarray(1)),
  ])
