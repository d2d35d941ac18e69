import fc from 'fast-check'
import { maxFrameBytes, maxHelloBytes } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import { disconnect, packet, pingreq, publishPacket, subscribePacket } from '../../../test/mqtt/client.ts'
import { Framing } from './framing.ts'

/** Passes everything, in parts of these sizes; answers with where each portion ended, or the reason of the end. */
const passAll = (bytes: Buffer, parts: number[] = [bytes.length]) => {
  const framing = new Framing()
  const stops: number[] = []
  for (let from = 0, n = 0; from < bytes.length; n++) {
    const part = bytes.subarray(from, from + (parts[n % parts.length] ?? 1))
    for (let at = 0; at < part.length; ) {
      const stop = framing.pass(part, at)
      if (typeof stop === 'string') return stop
      at = stop
      stops.push(from + at)
    }
    from += part.length
  }
  return stops
}

const kinds = [
  pingreq,
  disconnect,
  subscribePacket('d/x/down'),
  publishPacket('d/x/up', Buffer.alloc(3)),
  publishPacket('d/x/up', Buffer.alloc(300), { qos: 1, id: 7 }),
]

describe('packets', () => {
  it('pass whole, however they are cut', () => {
    const histories = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 30 })
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(histories, cuts, (packets, parts) => {
        const bytes = Buffer.concat(packets)
        const stops = passAll(bytes, parts)
        expect(stops).not.toBeTypeOf('string')
        expect(stops.at(-1)).toBe(bytes.length)
      }),
    )
  })

  it('pass few at a time', () => {
    expect(passAll(Buffer.concat(Array.from({ length: 150 }, () => pingreq)))).toEqual([128, 256, 300])
  })

  it('that are large pass in one go', () => {
    const large = publishPacket('d/x/up', Buffer.alloc(maxFrameBytes))
    expect(passAll(large)).toEqual([large.length])
  })

  it.each([
    ['a second CONNECT', packet(0x10, [1]), 'UNEXPECTED_FRAME'],
    ['what only a server says', packet(0x20, [0, 0]), 'UNEXPECTED_FRAME'],
    ['an answer to what was never sent', packet(0x40, [0, 1]), 'UNEXPECTED_FRAME'],
    ['a step of QoS 2', packet(0x62, [0, 1]), 'UNEXPECTED_FRAME'],
    ['a reserved kind', packet(0xf0), 'UNEXPECTED_FRAME'],
    ['a SUBSCRIBE to nothing', packet(0x82, [0, 1]), 'MALFORMED_FRAME'],
    ['an UNSUBSCRIBE from nothing', packet(0xa2, [0, 1]), 'MALFORMED_FRAME'],
    ['a ping that holds something', packet(0xc0, [1]), 'MALFORMED_FRAME'],
    ['a length without end', Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80]), 'MALFORMED_FRAME'],
    ['a claim of 256 MB', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), 'OVERSIZED_FRAME'],
    ['a long subscription', packet(0x82, Buffer.alloc(maxHelloBytes + 1)), 'OVERSIZED_FRAME'],
  ])('do not pass: %s', (_what, bytes, reason) => {
    expect(passAll(bytes)).toBe(reason)
    expect(passAll(Buffer.concat([...kinds, bytes]), [1])).toBe(reason)
  })
})
