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

/** Bytes stay bytes: only what is valid UTF-8 is called so (lessons: decoders that crash on OEM code pages). */
export function outputOf(kept: Buffer, originalSize: number): svc.v1.Output.$Properties {
  const truncated = originalSize > kept.length
  const data = truncated ? wholeCharacters(kept) : kept
  return { data, encoding: isUtf8(data) ? 'utf-8' : '', truncated, originalSize }
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
