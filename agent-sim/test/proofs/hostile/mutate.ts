import { pick } from '../random.ts'
import type { Field, Message, Schema } from './schema.ts'
import { bytesOf, type Part, tag, varint } from './tree.ts'

type Random = () => number

/** A message in a frame, with what the schema says of it. */
export interface Place {
  message: Message
  parts: Part[]
}

/** What a mutation works on. `others`: whole frames of every kind, as trees. */
export interface Patient {
  schema: Schema
  frame: Part[]
  places: Place[]
  others: readonly Part[][]
}

/** Changes the frame; false: there is nothing in this one that it could change. */
type Mutation = (patient: Patient, random: Random) => boolean

const below = (random: Random, limit: number) => Math.floor(random() * limit)

/** Puts a value of that field where it stands, or at the end; whatever stood there is gone. */
function put({ parts }: Place, number: number, part: Part): true {
  const at = parts.findIndex((one) => 'number' in one && one.number === number)
  if (at < 0) parts.push(part)
  else parts[at] = part
  return true
}

/** A field of any of the frame's messages of which that holds. */
function field(
  { places }: Patient,
  random: Random,
  holds: (field: Field) => boolean,
): { place: Place; field: Field } | undefined {
  const found = places.flatMap((place) =>
    [...place.message.fields.values()].filter(holds).map((one) => ({ place, field: one })),
  )
  return found.length > 0 ? pick(found, random) : undefined
}

/** Something that stands in the frame, and where. */
function standing({ places }: Patient, random: Random): { place: Place; at: number } | undefined {
  const filled = places.filter(({ parts }) => parts.length > 0)
  if (filled.length === 0) return undefined
  const place = pick(filled, random)
  return { place, at: below(random, place.parts.length) }
}

const whole = new Set(['uint32', 'int32', 'uint64', 'int64', 'bool'])
const float32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}
/** A number in more bytes than it needs; eleven are more than any may have. */
const padded = (length: number) => Buffer.concat([Buffer.alloc(length - 1, 0x80), Buffer.from([0])])
const text = (number: number, bytes: Buffer): Part => ({ number, wire: 2, bytes })

const strangeNumbers = [2n ** 64n - 1n, 2n ** 63n, 2n ** 53n + 1n, 2n ** 32n, 2n ** 31n, -1n].map(varint)
const brokenTexts = ['ff', 'c080', 'eda080', 'e282', 'f4908080', '6162ff6364'].map((hex) =>
  Buffer.from(hex, 'hex'),
)
const oddTexts = [
  '\0',
  'a\0b',
  '\u202eabc',
  '\ufeffx',
  '\uffff',
  '😀',
  "'; drop table devices; --",
  '%s%n',
  '\r\n',
]

/** How a field can be wrong. */
export const fieldMutations: Record<string, Mutation> = {
  'an enum out of range': (patient, random) => {
    const found = field(patient, random, ({ type }) => patient.schema.enums.has(type))
    if (!found) return false
    const value = pick([99n, 1_000_000n, -1n, 2n ** 31n - 1n, 2n ** 40n], random)
    return put(found.place, found.field.number, { number: found.field.number, wire: 0, bytes: varint(value) })
  },
  'a oneof without a member': ({ places }, random) => {
    const has = ({ message, parts }: Place) =>
      parts.some((part) => 'number' in part && message.fields.get(part.number)?.oneof)
    const found = places.filter(has)
    if (found.length === 0) return false
    const { message, parts } = pick(found, random)
    for (let at = parts.length - 1; at >= 0; at--) {
      const part = parts[at]
      if (part && 'number' in part && message.fields.get(part.number)?.oneof) parts.splice(at, 1)
    }
    return true
  },
  'a oneof with two members': ({ frame, others }, random) => {
    frame.push(...pick(others, random))
    return true
  },
  'a float that is no number': (patient, random) => {
    const found = field(patient, random, ({ type }) => type === 'float' || type === 'double')
    if (!found) return false
    const value = pick([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 3e38, -1], random)
    return put(found.place, found.field.number, {
      number: found.field.number,
      wire: 5,
      bytes: float32(value),
    })
  },
  'a huge number': (patient, random) => {
    const found = field(patient, random, ({ type }) => whole.has(type))
    if (!found) return false
    const bytes = random() < 0.1 ? padded(pick([5, 10, 11], random)) : pick(strangeNumbers, random)
    return put(found.place, found.field.number, { number: found.field.number, wire: 0, bytes })
  },
  'a length that lies': (patient, random) => {
    const found = field(patient, random, ({ type }) => type === 'string' || type === 'bytes')
    if (!found) return false
    const length = pick([-1n, 2n ** 31n - 1n, 2n ** 32n - 1n, 300n, 1n], random)
    const { number } = found.field
    return put(found.place, number, {
      verbatim: Buffer.concat([tag(number, 2), varint(length), Buffer.from('ab')]),
    })
  },
  'a text that is too long': (patient, random) => {
    const found = field(patient, random, ({ type }) => type === 'string')
    if (!found) return false
    const length = random() < 0.2 ? 17_000 : pick([256, 300, 1_025, 2_000], random)
    return put(found.place, found.field.number, text(found.field.number, Buffer.alloc(length, 0x78)))
  },
  'a text that is no UTF-8': (patient, random) => {
    const found = field(patient, random, ({ type }) => type === 'string')
    return found
      ? put(found.place, found.field.number, text(found.field.number, pick(brokenTexts, random)))
      : false
  },
  'an odd text': (patient, random) => {
    const found = field(patient, random, ({ type }) => type === 'string')
    if (!found) return false
    return put(found.place, found.field.number, text(found.field.number, Buffer.from(pick(oddTexts, random))))
  },
  'deep nesting': ({ places }, random) => {
    const depth = random() < 0.2 ? 101 + below(random, 60) : 1 + below(random, 60)
    const number = 100 + below(random, 50)
    const groups = [...Array(depth).fill(tag(number, 3)), ...Array(depth).fill(tag(number, 4))] as Buffer[]
    pick(places, random).parts.push({ verbatim: Buffer.concat(groups) })
    return true
  },
  'a repeated field many times': (patient, random) => {
    const found = field(patient, random, ({ repeated }) => repeated)
    if (!found) return false
    const { number, type } = found.field
    const one: Part =
      type === 'uint32' ? { number, wire: 0, bytes: varint(7) } : text(number, Buffer.alloc(0))
    const times = random() < 0.02 ? 10_000 : 10 + below(random, 40)
    found.place.parts.push({ verbatim: Buffer.concat(Array(times).fill(bytesOf([one])) as Buffer[]) })
    return true
  },
  'a field that nobody knows': ({ places }, random) => {
    const number = pick([100, 1_000, 19_000, 2 ** 29 - 1], random)
    const wire = pick([0, 1, 2, 5], random)
    const bytes = { 0: varint(5), 1: Buffer.alloc(8), 2: Buffer.from('later'), 5: Buffer.alloc(4) }[wire]
    const { parts } = pick(places, random)
    parts.splice(below(random, parts.length + 1), 0, { number, wire, bytes: bytes ?? Buffer.alloc(0) })
    return true
  },
  'a field of another wire type': (patient, random) => {
    const found = standing(patient, random)
    const part = found?.place.parts[found.at]
    if (!found || !part || !('number' in part)) return false
    const wire = pick(
      [0, 1, 2, 5].filter((one) => one !== part.wire),
      random,
    )
    const bytes = { 0: varint(1), 1: Buffer.alloc(8, 1), 2: Buffer.from('x'), 5: Buffer.alloc(4, 1) }[wire]
    found.place.parts[found.at] = { number: part.number, wire, bytes: bytes ?? Buffer.alloc(0) }
    return true
  },
  'a field that is gone': (patient, random) => {
    const found = standing(patient, random)
    found?.place.parts.splice(found.at, 1)
    return found !== undefined
  },
  'a field twice': (patient, random) => {
    const found = standing(patient, random)
    const part = found?.place.parts[found.at]
    if (!found || !part) return false
    found.place.parts.splice(below(random, found.place.parts.length + 1), 0, part)
    return true
  },
  'fields in another order': (patient, random) => {
    const found = standing(patient, random)
    found?.place.parts.sort(() => random() - 0.5)
    return found !== undefined
  },
  'an empty value': (patient, random) => {
    const found = standing(patient, random)
    const part = found?.place.parts[found.at]
    if (!found || !part || !('number' in part)) return false
    const bytes = { 0: Buffer.from([0]), 1: Buffer.alloc(8), 2: Buffer.alloc(0), 5: Buffer.alloc(4) }[
      part.wire
    ]
    found.place.parts[found.at] = { number: part.number, wire: part.wire, bytes: bytes ?? Buffer.alloc(0) }
    return true
  },
  'the content of another kind': ({ frame, others }, random) => {
    const at = frame.findIndex((part) => 'inner' in part)
    const [mine, theirs] = [frame[at], pick(others, random).find((part) => 'inner' in part)]
    if (!mine || !theirs || !('number' in mine) || !('number' in theirs)) return false
    frame[at] = { ...mine, number: theirs.number }
    return true
  },
}

const withByte = (bytes: Buffer, at: number, value: number) => {
  const copy = Buffer.from(bytes)
  copy[at] = value
  return copy
}

/** How bytes can be wrong, whatever they mean. */
export const byteMutations: Record<string, (bytes: Buffer, random: Random) => Buffer> = {
  'a bit flipped': (bytes, random) => {
    const at = below(random, bytes.length)
    return withByte(bytes, at, (bytes[at] ?? 0) ^ (1 << below(random, 8)))
  },
  'a byte replaced': (bytes, random) =>
    withByte(bytes, below(random, bytes.length), pick([0, 1, 0x7f, 0x80, 0xff, below(random, 256)], random)),
  'bytes cut off': (bytes, random) => bytes.subarray(0, below(random, bytes.length)),
  'bytes put in': (bytes, random) => {
    const at = below(random, bytes.length + 1)
    const more = Buffer.from(Array.from({ length: 1 + below(random, 8) }, () => below(random, 256)))
    return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)])
  },
  'bytes taken out': (bytes, random) => {
    const at = below(random, bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(random, 4))])
  },
  'a frame behind itself': (bytes) => Buffer.concat([bytes, bytes]),
}

/** Bytes of no meaning at all: what a mutation of any frame could not give. */
export const noise = (random: Random): Buffer =>
  Buffer.from(Array.from({ length: 1 + below(random, 64) }, () => below(random, 256)))
