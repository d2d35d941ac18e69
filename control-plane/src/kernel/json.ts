import { ApiError } from './errors.ts'

/** Numbers of decisions "Numbers": what a body may be. */
export const bodyLimits = { bytes: 1024 * 1024, keys: 1_000, depth: 32, values: 20_000 } as const

const tooLarge = (what: string) => new ApiError('PAYLOAD_TOO_LARGE', what)
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `__proto__` as an own key, or a `constructor` with a `prototype`, would reach into every object that it is merged into. */
function poisons(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [bracket, endBracket, brace, endBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Fewer bytes than this are read in a moment, whatever they say. */
const smallBytes = 16 * 1024

/**
 * Counts what a body will be before anything is made of it: to read a million brackets, and to judge half a million zeros one by one,
 * would hold up everybody for a second. Says nothing about whether it is JSON.
 */
function weigh(bytes: Uint8Array): void {
  let [values, keys, depth, quoted] = [0, 0, 0, false]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (quoted) {
      if (byte === backslash) at++
      else if (byte === quote) quoted = false
    } else if (byte === quote) quoted = true
    else if (byte === comma) values++
    else if (byte === colon) keys++
    else if (byte === bracket || byte === brace) depth++
    else if (byte === endBracket || byte === endBrace) depth--
    else continue
    if (depth > bodyLimits.depth) throw tooLarge(`nested deeper than ${bodyLimits.depth}`)
    if (keys > bodyLimits.keys) throw tooLarge(`more than ${bodyLimits.keys} keys`)
    if (values > bodyLimits.values) throw tooLarge(`more than ${bodyLimits.values} values`)
  }
}

/** Walks the value without recursion, so that depth is counted and never overflows. */
function inspect(root: unknown): void {
  let keys = 0
  const stack: [value: unknown, depth: number][] = [[root, 0]]
  for (let item = stack.pop(); item; item = stack.pop()) {
    const [value, depth] = item
    if (typeof value !== 'object' || value === null) continue
    if (depth >= bodyLimits.depth) throw tooLarge(`nested deeper than ${bodyLimits.depth}`)
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) {
        if (++keys > bodyLimits.keys) throw tooLarge(`more than ${bodyLimits.keys} keys`)
        if (poisons(key, inner)) throw new ApiError('BAD_REQUEST', `key ${key} is not allowed`)
      }
      stack.push([inner, depth + 1])
    }
  }
}

/** A JSON body. An empty one is no body. @throws ApiError BAD_REQUEST, PAYLOAD_TOO_LARGE */
export function parseBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  if (bytes.length > smallBytes) weigh(bytes)
  let value: unknown
  try {
    value = JSON.parse(decoder.decode(bytes))
  } catch (error) {
    throw new ApiError('BAD_REQUEST', 'the body is not JSON', { cause: error })
  }
  inspect(value)
  return value
}
