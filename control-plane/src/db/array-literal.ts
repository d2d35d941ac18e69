/**
 * Postgres array literals, joined by hand: for batches of a thousand rows that costs a third of what the driver's own array
 * encoding does. Use as `${plainArray(ids)}::uuid[]` (PostgreSQL documentation §8.15.2, Array Value Input).
 */

type Plain = string | number | boolean | null | undefined

/** Of values that need no quoting: uuids, numbers, booleans. Null and undefined become NULL. */
export const plainArray = (values: readonly Plain[]): string =>
  `{${values.map((value) => value ?? 'NULL').join(',')}}`

/** Of any text. Null and undefined become NULL; a NUL character, which Postgres cannot hold, becomes U+FFFD. */
export const textArray = (values: readonly (string | null | undefined)[]): string =>
  `{${values.map((value) => (value == null ? 'NULL' : quote(value))).join(',')}}`

/** Of bytes (`bytea[]`). Null and undefined become NULL. */
export const bytesArray = (values: readonly (Uint8Array | null | undefined)[]): string =>
  `{${values.map((value) => (value == null ? 'NULL' : `"\\\\x${hex(value)}"`)).join(',')}}`

const quote = (text: string) => `"${storable(text).replace(/["\\]/g, '\\$&')}"`

const hex = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

/** What no text or jsonb column can hold: NUL, and halves of surrogate pairs. */
const unstorable = /[\0\p{Surrogate}]/gu

/** `text` with what Postgres cannot store visibly replaced by U+FFFD. */
export const storable = (text: string): string => text.replace(unstorable, '\u{fffd}')

/** Whether Postgres can store `text` as it is. */
export const isStorable = (text: string): boolean => text.search(unstorable) < 0
