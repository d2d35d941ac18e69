import { isUtf8 } from 'node:buffer'
import type { Message, Schema } from './schema.ts'

/** A message as it was said: fields by name; whole numbers are bigint, enums too. Members of a oneof also say their name there. */
export interface Said {
  [field: string]: bigint | number | string | Buffer | Said | Said[] | string[] | bigint[] | undefined
}

/** Nested groups and messages beyond this are refused (protobuf, "recursion limit"). */
const maxDepth = 100
const [varint, fixed64, delimited, group, groupEnd, fixed32] = [0, 1, 2, 3, 4, 5] as const

/** By scalar of proto3, the wire type that it has; everything else is a message or an enum. */
const wireTypes: Record<string, number> = {
  string: delimited,
  bytes: delimited,
  float: fixed32,
  double: fixed64,
}

/** Thrown so often that where from would cost more than all else. */
const broken = new Error('broken')

/**
 * Decodes by the protobuf encoding: unknown fields, and known ones of another wire type, are passed over; of fields that are not
 * repeated the last one counts, and messages that come again are merged. Undefined: it is not a message of that kind.
 */
export function decode(schema: Schema, kind: string, bytes: Buffer): Said | undefined {
  const message = schema.messages.get(kind)
  if (!message) throw new Error(`no message ${kind}`)
  try {
    return new Decoder(schema, bytes).message(message, bytes.length, 0, {})
  } catch (error) {
    if (error === broken) return undefined
    throw error
  }
}

class Decoder {
  readonly #schema: Schema
  readonly #bytes: Buffer
  #at = 0

  constructor(schema: Schema, bytes: Buffer) {
    this.#schema = schema
    this.#bytes = bytes
  }

  message({ fields }: Message, end: number, depth: number, into: Said): Said {
    while (this.#at < end) {
      const { number, wire } = this.#tag(end)
      const field = fields.get(number)
      const wanted = field && this.#wireOf(field.type)
      if (!field || (wire !== wanted && !(field.repeated && wire === delimited && wanted === varint))) {
        this.#skip(wire, number, end, depth)
        continue
      }
      // Of a oneof only the last member is left.
      const last = field.oneof && into[field.oneof]
      if (typeof last === 'string' && last !== field.name) delete into[last]
      const value = this.#value(field.type, wire, end, depth, field.repeated ? undefined : into[field.name])
      if (field.repeated) {
        const all = (into[field.name] ??= []) as unknown[]
        if (Array.isArray(value)) all.push(...value)
        else all.push(value)
      } else into[field.name] = value as Said
      if (field.oneof) into[field.oneof] = field.name
    }
    if (this.#at !== end) throw broken
    return into
  }

  #wireOf(type: string): number {
    return this.#schema.messages.has(type) ? delimited : (wireTypes[type] ?? varint)
  }

  #value(type: string, wire: number, end: number, depth: number, before: unknown): unknown {
    const message = this.#schema.messages.get(type)
    if (message) {
      const stop = this.#size(end)
      return this.message(message, stop, depth + 1, (before as Said | undefined) ?? {})
    }
    if (type === 'float') return this.#take(4, end).readFloatLE()
    if (type === 'double') return this.#take(8, end).readDoubleLE()
    if (type === 'string' || type === 'bytes') {
      const bytes = this.#take(this.#size(end) - this.#at, end)
      if (type === 'bytes') return bytes
      if (!isUtf8(bytes)) throw broken
      return bytes.toString('utf8')
    }
    if (wire !== delimited) return this.#varint(end, 10)
    const stop = this.#size(end)
    const packed: bigint[] = []
    while (this.#at < stop) packed.push(this.#varint(stop, 10))
    return packed
  }

  #tag(end: number): { number: number; wire: number } {
    const tag = this.#varint(end, 5)
    if (tag > 0xffff_ffffn) throw broken
    const wire = Number(tag & 7n)
    const number = Number(tag >> 3n)
    if (number === 0) throw broken
    return { number, wire }
  }

  /** Where it ends that is announced here. */
  #size(end: number): number {
    const size = this.#varint(end, 5)
    const stop = this.#at + Number(size)
    if (size > 0x7fff_ffffn || stop > end) throw broken
    return stop
  }

  #varint(end: number, most: number): bigint {
    let low = 0
    for (let n = 0; n < most; n++) {
      const byte = this.#bytes[this.#at]
      if (this.#at >= end || byte === undefined) throw broken
      this.#at++
      if (n < 4) low += (byte & 0x7f) * 2 ** (7 * n)
      else return this.#longVarint(end, most, BigInt(low), byte)
      if (byte < 0x80) return BigInt(low)
    }
    throw broken
  }

  #longVarint(end: number, most: number, low: bigint, fifth: number): bigint {
    let value = low | (BigInt(fifth & 0x7f) << 28n)
    let byte = fifth
    for (let n = 5; byte >= 0x80; n++) {
      const next = this.#bytes[this.#at]
      if (n >= most || this.#at >= end || next === undefined) throw broken
      this.#at++
      byte = next
      value |= BigInt(byte & 0x7f) << BigInt(7 * n)
    }
    return value & 0xffff_ffff_ffff_ffffn
  }

  #take(count: number, end: number): Buffer {
    if (this.#at + count > end) throw broken
    return this.#bytes.subarray(this.#at, (this.#at += count))
  }

  #skip(wire: number, number: number, end: number, depth: number): void {
    if (depth > maxDepth) throw broken
    if (wire === varint) this.#skipVarint(end)
    else if (wire === fixed64) this.#take(8, end)
    else if (wire === fixed32) this.#take(4, end)
    else if (wire === delimited) this.#at = this.#size(end)
    else if (wire === group) this.#skipGroup(number, end, depth)
    else throw broken
  }

  #skipGroup(number: number, end: number, depth: number): void {
    for (;;) {
      const inner = this.#tag(end)
      if (inner.wire === groupEnd) {
        if (inner.number !== number) throw broken
        return
      }
      this.#skip(inner.wire, inner.number, end, depth + 1)
    }
  }

  /** What nobody reads may be as long as it likes. */
  #skipVarint(end: number): void {
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (this.#at >= end || byte === undefined) throw broken
      this.#at++
      if (byte < 0x80) return
    }
  }
}
