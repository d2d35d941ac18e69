import { errorInLog } from '../error-in-log.ts'
import { redacted, scrubbed } from './patterns.ts'
import { announcesSecret, isSensitive } from './sensitive.ts'

/** A line is read by people: nothing in it is larger, longer or deeper than this. */
const most = { characters: 8_000, items: 100, depth: 6 } as const

/** Of a field that somebody of us named. */
const longestName = 24

/** Codes of errors are names: `ECONNREFUSED`, `FST_ERR_BAD_URL`, `23505`. A code of six digits is somebody's second factor. */
const isErrorCode = (code: unknown) =>
  typeof code === 'string' && /^(?:[0-9A-Z]{5}|[A-Z][A-Z0-9_]*_?[A-Z0-9_]*)$/.test(code)

/** What JSON leaves as it is and a terminal obeys: controls beyond ASCII, line separators, changes of direction. */
const unseen = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const shown = (text: string) =>
  text.replace(unseen, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A text as lines show it: of bearable length, and without what looks like a secret. */
export const cleanText = (text: string): string =>
  text.length <= most.characters
    ? shown(scrubbed(text))
    : `${shown(scrubbed(text.slice(0, most.characters)))}… (${text.length - most.characters} characters more)`

/**
 * What is told of a value in a log: without what stands under the name of a secret, at any depth, and of errors what
 * {@link errorInLog} tells; texts without what looks like one. Never throws.
 */
export const cleaned = (value: unknown): unknown => clean(value, 0, [])

function clean(value: unknown, depth: number, within: object[]): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  return typeof value === 'object' && value !== null ? cleanObject(value, depth, within) : value
}

function cleanObject(value: object, depth: number, within: object[]): unknown {
  if (within.includes(value)) return '[circular]'
  if (depth >= most.depth) return '[deeper]'
  try {
    const inside = [...within, value]
    if (value instanceof Error) return cleanError(value, depth, inside)
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
    if (value instanceof Map)
      return fieldsOf(
        [...value].map(([key, one]) => [String(key), one]),
        depth,
        inside,
      )
    if (Array.isArray(value) || value instanceof Set) return itemsOf([...value], depth, inside)
    if ('toJSON' in value && typeof value.toJSON === 'function')
      return clean(value.toJSON(), depth + 1, inside)
    // A Buffer that went through JSON, and a secret beside its name.
    if ('type' in value && value.type === 'Buffer' && 'data' in value && Array.isArray(value.data))
      return `[${value.data.length} bytes]`
    return fieldsOf(
      namesValue(value) ? Object.entries({ ...value, value: redacted }) : Object.entries(value),
      depth,
      inside,
    )
  } catch {
    return '[unreadable]' // a getter, a proxy: whatever it is, the line is told without it
  }
}

const namesValue = (value: object) =>
  'value' in value && ['name', 'key'].some((field) => isNamed((value as Record<string, unknown>)[field]))
const isNamed = (name: unknown) => typeof name === 'string' && isSensitive(name)

const itemsOf = (items: unknown[], depth: number, within: object[]) => {
  const told = items
    .slice(0, most.items)
    .map((item, at) =>
      announcesSecret(items[at - 1]) ? hidden(item) : (clean(item, depth + 1, within) ?? null),
    )
  return items.length > most.items ? [...told, `… (${items.length - most.items} more)`] : told
}

function fieldsOf(entries: [string, unknown][], depth: number, within: object[]) {
  const told: Record<string, unknown> = {}
  for (const [name, value] of entries.slice(0, most.items)) {
    if (value === undefined) continue
    const text = isSensitive(name) ? hidden(value) : clean(value, depth + 1, within)
    if (text !== undefined) told[name.length > longestName ? cleanText(name) : shown(name)] = text
  }
  return told
}

/** That there is none may be told. */
const hidden = (value: unknown) => (value === null || typeof value === 'boolean' ? value : redacted)

/** Fields of {@link errorInLog} are known: only their codes could be anything. */
function cleanError(error: Error, depth: number, within: object[]): unknown {
  const told = errorInLog(error) as Record<string, unknown>
  const { code, ...rest } = told
  const fields = clean(rest, depth, within) as Record<string, unknown>
  if (code !== undefined) fields['code'] = isErrorCode(code) ? code : redacted
  return fields
}
