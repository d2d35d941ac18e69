import { TextDecoder } from 'node:util'

/**
 * One output stream of a command as people and programs read it.
 * - `text` decoded as far as that is possible
 * - `encoding` what the agent says the bytes are, null when it does not know
 * - `size` bytes that the command wrote; more than were kept when `truncated`
 * - `lossy` the text does not tell all: `base64` holds the kept bytes exactly
 */
export interface OutputView {
  text: string
  encoding: string | null
  size: number
  truncated: boolean
  lossy: boolean
  base64?: string
}

/** A decoder for an encoding's name (WHATWG Encoding §4.2), or undefined for one that is not known here. */
function decoderOf(encoding: string, fatal: boolean): TextDecoder | undefined {
  try {
    return new TextDecoder(encoding, { fatal })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The exact text of bytes in a known encoding, or undefined. A character cut in half by truncation is left out. */
function exact(bytes: Uint8Array, encoding: string, truncated: boolean): string | undefined {
  try {
    return decoderOf(encoding, true)?.decode(bytes, { stream: truncated })
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

const isAscii = (bytes: Uint8Array) => bytes.every((byte) => byte < 0x80)

/**
 * Bytes in an encoding that is not known here are exact only where they are ASCII, which every console code page contains;
 * without any statement of the encoding, valid UTF-8 is taken for what it is.
 */
function exactText(bytes: Uint8Array, encoding: string | null, truncated: boolean): string | undefined {
  if (encoding === null) return exact(bytes, 'utf-8', truncated)
  if (decoderOf(encoding, true)) return exact(bytes, encoding, truncated)
  return isAscii(bytes) ? exact(bytes, 'utf-8', truncated) : undefined
}

/** What is kept of a stream. `encoding` empty: the agent does not know; `size` is what the command wrote, in bytes. */
export interface Kept {
  data: Uint8Array
  encoding: string
  size: number
  truncated: boolean
}

/** Shows a kept stream as honestly as can be. */
export function viewOutput({ data, encoding: label, size, truncated }: Kept): OutputView {
  const encoding = label || null
  const about = { encoding, size, truncated }
  const text = exactText(data, encoding, truncated)
  if (text !== undefined) return { text, ...about, lossy: false }
  const decoder = decoderOf(encoding ?? 'utf-8', false) ?? new TextDecoder()
  return { text: decoder.decode(data), ...about, lossy: true, base64: Buffer.from(data).toString('base64') }
}
