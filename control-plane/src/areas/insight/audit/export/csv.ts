/**
 * Cells that a spreadsheet would take for a formula, a command or a new line begin with one of these, also in their full-width forms
 * (OWASP, CSV Injection). White space before them helps nobody: some programs trim it.
 */
const dangerous = /^\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/u

/**
 * Where a comma is part of numbers spreadsheets take semicolons or tabs for the ends of cells, and quotes within such a line for
 * nothing: what follows would begin a cell. (A new line does not come here but as \n of JSON.)
 */
const begins = /[;\t](?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/gu

/** A text that stays a text wherever it is opened. */
export const neutral = (text: string): string => {
  const whole = text.replace(begins, "$&'")
  return dangerous.test(whole) ? `'${whole}` : whole
}

/** In JSON too, each text by itself: a program that splits cells at other characters finds it in there. */
export const neutralJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return neutral(part)
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [neutral(key), inner]))
  })

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`

/** One record of RFC 4180, every cell quoted; null is an empty one. */
export const csvLine = (cells: readonly (string | null)[]): string =>
  `${cells.map((cell) => quoted(cell === null ? '' : neutral(cell))).join(',')}\r\n`

/** Excel takes a file for UTF-8 only with it. */
export const byteOrderMark = '\ufeff'
