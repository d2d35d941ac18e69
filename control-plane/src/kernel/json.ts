import { ApiError } from './errors.ts'

/** Numbers of decisions "Numbers": what a body may be. */
export const bodyLimits = { bytes: 1024 * 1024, keys: 1_000, depth: 32 } as const

const tooLarge = (what: string) => new ApiError('PAYLOAD_TOO_LARGE', what)
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `__proto__` as an own key, or a `constructor` with a `prototype`, would reach into every object that it is merged into. */
function poisons(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
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
  let value: unknown
  try {
    value = JSON.parse(decoder.decode(bytes))
  } catch (error) {
    throw new ApiError('BAD_REQUEST', 'the body is not JSON', { cause: error })
  }
  inspect(value)
  return value
}
