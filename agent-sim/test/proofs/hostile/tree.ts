import type { Schema } from './schema.ts'

/** One field as it stands in a frame. `inner`: of a message, instead of bytes; `verbatim`: those bytes and nothing else. */
export type Part =
  | { number: number; wire: number; bytes: Buffer }
  | { number: number; wire: 2; inner: Part[]; type: string }
  | { verbatim: Buffer }

export const varint = (value: bigint | number): Buffer => {
  if (value >= 0 && value < 0x80) return Buffer.of(Number(value))
  const bytes: number[] = []
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    bytes.push(rest < 0x80n ? Number(rest) : Number(rest & 0x7fn) | 0x80)
    if (rest < 0x80n) return Buffer.from(bytes)
  }
}

export const tag = (number: number, wire: number): Buffer => varint(number * 8 + wire)

/** A valid frame as a tree, by the schema. */
export function treeOf(schema: Schema, type: string, bytes: Buffer): Part[] {
  const fields = schema.messages.get(type)?.fields
  const parts: Part[] = []
  for (let at = 0; at < bytes.length; ) {
    const head = readVarint(bytes, at)
    const [number, wire] = [Math.floor(head.value / 8), head.value % 8]
    const body = bodyOf(bytes, head.end, wire)
    at = body.end
    const field = fields?.get(number)
    if (wire === 2 && field && schema.messages.has(field.type))
      parts.push({ number, wire, inner: treeOf(schema, field.type, body.bytes), type: field.type })
    else parts.push({ number, wire, bytes: body.bytes })
  }
  return parts
}

export const bytesOf = (parts: readonly Part[]): Buffer => Buffer.concat(parts.flatMap(pieces))

function pieces(part: Part): Buffer[] {
  if ('verbatim' in part) return [part.verbatim]
  const bytes = 'inner' in part ? bytesOf(part.inner) : part.bytes
  const head = tag(part.number, part.wire)
  return part.wire === 2 ? [head, varint(bytes.length), bytes] : [head, bytes]
}

/** Of a valid frame: no number in it needs more than 53 bits to be read past. */
function readVarint(bytes: Buffer, at: number): { value: number; end: number } {
  let value = 0
  for (let n = 0; ; n++) {
    const byte = bytes[at + n] ?? 0
    value += (byte & 0x7f) * 2 ** (7 * n)
    if (byte < 0x80) return { value, end: at + n + 1 }
  }
}

function bodyOf(bytes: Buffer, at: number, wire: number): { bytes: Buffer; end: number } {
  const size = wire === 2 ? readVarint(bytes, at) : undefined
  const start = size?.end ?? at
  const lengths: Record<number, () => number> = {
    0: () => readVarint(bytes, at).end - at,
    1: () => 8,
    2: () => size?.value ?? 0,
    5: () => 4,
  }
  const length = lengths[wire]?.()
  if (length === undefined) throw new Error(`no valid frame: wire type ${wire}`)
  return { bytes: bytes.subarray(start, start + length), end: start + length }
}
