import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { maxOutputBytes, type svc } from '@svc/proto'

/** The first `maxOutputBytes` of a stream, and how much there was. Reads on to the end, so that the writer never blocks. */
export class Capture {
  readonly #chunks: Buffer[] = []
  #kept = 0
  #seen = 0

  constructor(stream: Readable) {
    stream.on('data', (chunk: Buffer) => this.#take(chunk))
    // The other end is gone; what came before counts.
    stream.on('error', () => {})
  }

  #take(chunk: Buffer): void {
    this.#seen += chunk.length
    const room = maxOutputBytes - this.#kept
    if (room <= 0) return
    this.#chunks.push(chunk.subarray(0, room))
    this.#kept += Math.min(room, chunk.length)
  }

  output(): svc.v1.Output.$Properties {
    return outputOf(Buffer.concat(this.#chunks), this.#seen)
  }
}

/** Bytes stay bytes: only what is valid UTF-8, or says itself that it is UTF-16, is called so (lessons: decoders that crash on OEM code pages). */
export function outputOf(kept: Buffer, originalSize: number): svc.v1.Output.$Properties {
  const truncated = originalSize > kept.length
  const data = truncated ? wholeCharacters(kept) : kept
  return { data, encoding: encodingOf(data), truncated, originalSize }
}

/** What the bytes themselves say; empty: they may be anything. */
function encodingOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return 'utf-8'
  return startsWith(bytes, utf16le) && !startsWith(bytes, utf32le) && isUtf16le(bytes) ? 'utf-16le' : ''
}

/** Marks of byte order (Unicode §23.8). */
const utf16le = [0xff, 0xfe]
const utf32le = [0xff, 0xfe, 0, 0]

const startsWith = (bytes: Buffer, mark: readonly number[]): boolean =>
  mark.every((byte, at) => bytes[at] === byte)

function isUtf16le(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-16le', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Without the character that a cut went through: at most three bytes (RFC 3629 §3). Other encodings are left alone. */
function wholeCharacters(bytes: Buffer): Buffer {
  if (isUtf8(bytes)) return bytes
  for (let cut = 1; cut <= 3; cut += 1) {
    const shorter = bytes.subarray(0, Math.max(0, bytes.length - cut))
    if (isUtf8(shorter)) return shorter
  }
  return bytes
}
