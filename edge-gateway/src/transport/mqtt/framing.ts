import { type CloseReason, maxFrameBytes, maxHelloBytes } from '@svc/proto'
import { packetTypes } from './packets.ts'

/** Beside the envelope a PUBLISH holds its topic and number. */
const maxPublishBytes = maxFrameBytes + 128

/** What may come after the CONNECT, and how long each may be. QoS 2 has no packets here: nothing of it is granted. */
const longest: Partial<Record<number, number>> = {
  [packetTypes.publish]: maxPublishBytes,
  [packetTypes.subscribe]: maxHelloBytes,
  [packetTypes.unsubscribe]: maxHelloBytes,
  [packetTypes.pingreq]: 0,
  [packetTypes.disconnect]: 0,
}

/** What names no topic is none (§3.8.3, §3.10.3): behind the packet's number there is one, of at least a letter. */
const shortest: Partial<Record<number, number>> = { [packetTypes.subscribe]: 6, [packetTypes.unsubscribe]: 5 }

/** A remaining length has no more bytes than these: MQTT 3.1.1 §2.2.3. */
const maxLengthBytes = 4

/** Packets handed on in one go: what each costs the broker is bounded by this and not by how small a packet can be. */
const maxPackets = 64

/**
 * Watches the packets of an admitted connection go by, without keeping any of them: a length is judged as soon as it is claimed, and
 * a kind that has no business here by its first byte.
 */
export class Framing {
  /** bytes of the packet under way that are still to come; undefined: a first byte is expected, or its length is not complete */
  #rest: number | undefined
  #limit = 0
  #least = 0
  #length = 0
  #lengthBytes = 0

  /**
   * Goes on from `start`. Returns where to stop for now, or why the connection ends.
   */
  pass(bytes: Uint8Array, start: number): number | CloseReason {
    let at = start
    let packets = 0
    while (at < bytes.length) {
      if (this.#rest) {
        const step = Math.min(this.#rest, bytes.length - at)
        this.#rest -= step
        at += step
      } else {
        const wrong = this.#header(bytes[at] ?? 0)
        if (wrong) return wrong
        at++
      }
      if (this.#rest !== 0) continue
      this.#rest = undefined
      if (++packets === maxPackets) break
    }
    return at
  }

  #header(byte: number): CloseReason | undefined {
    if (this.#lengthBytes === 0) {
      const limit = longest[byte >> 4]
      if (limit === undefined) return 'UNEXPECTED_FRAME'
      this.#limit = limit
      this.#least = shortest[byte >> 4] ?? 0
      this.#length = 0
      this.#lengthBytes = 1
      return undefined
    }
    this.#length += (byte & 0x7f) * 0x80 ** (this.#lengthBytes - 1)
    if (this.#length > this.#limit) return this.#limit === 0 ? 'MALFORMED_FRAME' : 'OVERSIZED_FRAME'
    if (byte < 0x80) {
      if (this.#length < this.#least) return 'MALFORMED_FRAME'
      this.#rest = this.#length
      this.#lengthBytes = 0
    } else if (++this.#lengthBytes > maxLengthBytes) return 'MALFORMED_FRAME'
    return undefined
  }
}
