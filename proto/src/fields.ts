/** Fields of a frame, those of the messages in it included: ten thousand packages fit twice, and to decode so many takes some 50 ms. */
export const maxFrameFields = 131_072

/** Fewer bytes than this are decoded in a moment, whatever they say. */
const smallBytes = 64 * 1024

/** By number, those fields of a message that are messages themselves. */
interface Messages {
  readonly [field: number]: Messages
}

const leaf: Messages = {}
const traced: Messages = { 15: leaf }
const listed: Messages = { 1: leaf }

/** Of Envelope (proto/svc/v1/envelope.proto); a test compares it with the .proto. */
export const messagesOfEnvelope: Messages = {
  2: { 14: leaf },
  3: { 7: leaf },
  4: traced,
  5: traced,
  6: { 5: leaf, 6: leaf, ...traced },
  7: { 8: leaf, 9: leaf, 10: listed, 11: listed, 12: listed },
  9: leaf,
  12: leaf,
  13: leaf,
  32: leaf,
  33: leaf,
  34: { 5: leaf },
  35: leaf,
  36: leaf,
  37: leaf,
  38: leaf,
  39: leaf,
  40: leaf,
  41: leaf,
  42: leaf,
}

/** Where a varint ends that begins at `at`, and its value as far as a length or a tag may go. */
interface Cursor {
  at: number
  value: number
}

/** @returns false where the bytes are no varint */
function varint(bytes: Uint8Array, cursor: Cursor): boolean {
  let [value, factor] = [0, 1]
  for (let n = 0; n < 10; n++) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) return false
    value += (byte & 0x7f) * factor
    factor *= 0x80
    if (byte < 0x80) {
      cursor.value = value
      return true
    }
  }
  return false
}

const fixed64 = 1
const delimited = 2
const fixed32 = 5

/** Whether there are more fields than may be, looked at without making anything of them. What is malformed is for the decoder to find. */
export function hasTooManyFields(frame: Uint8Array, most = maxFrameFields): boolean {
  if (frame.length <= smallBytes) return false
  const cursor: Cursor = { at: 0, value: 0 }
  const open: { end: number; messages: Messages }[] = [{ end: frame.length, messages: messagesOfEnvelope }]
  let fields = 0
  for (let top = open.at(-1); top; top = open.at(-1)) {
    if (cursor.at >= top.end) {
      open.pop()
      continue
    }
    if (++fields > most) return true
    if (!varint(frame, cursor)) return false
    const [wire, field] = [cursor.value % 8, Math.floor(cursor.value / 8)]
    if (wire === fixed64) cursor.at += 8
    else if (wire === fixed32) cursor.at += 4
    else if (wire === delimited || wire === 0) {
      if (!varint(frame, cursor)) return false
      if (wire === 0) continue
      const messages = top.messages[field]
      if (messages) open.push({ end: Math.min(top.end, cursor.at + cursor.value), messages })
      else cursor.at += cursor.value
    }
    // What is left begins or ends a group, and what is in it is counted as if it stood beside it.
  }
  return false
}
