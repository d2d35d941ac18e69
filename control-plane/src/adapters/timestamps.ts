/** As a session in UTC writes a time of years 1 to 9999: `2026-11-28 09:30:00.123456+00`, with as much of a fraction as there is. */
const isPlain = (text: string) =>
  text.length >= 22 && text.length <= 29 && text.charCodeAt(10) === 32 && text.endsWith('+00')

const pair = (text: string, at: number) => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48
const digit = (text: string, at: number) => (at < text.length - 3 ? text.charCodeAt(at) - 48 : 0)

/** What a Date is made from. Its own reading of a text costs five times as much, for a form that is not the standard's. */
function instantOf(text: string): number | string {
  if (!isPlain(text)) return text
  const year = pair(text, 0) * 100 + pair(text, 2)
  if (year < 100) return `${text.slice(0, 10)}T${text.slice(11, -3)}Z` // Date.UTC would take 99 for 1999, and so would a Date of the text
  const ms = digit(text, 20) * 100 + digit(text, 21) * 10 + digit(text, 22)
  return Date.UTC(year, pair(text, 5) - 1, pair(text, 8), pair(text, 11), pair(text, 14), pair(text, 17), ms)
}

/**
 * A timestamp as Postgres wrote it. A Date holds milliseconds, Postgres microseconds: a list continued from a rounded timestamp
 * would skip or repeat rows, so the text is kept beside it. Not to be changed: it is what the text says.
 */
export class Timestamp extends Date {
  readonly text: string

  constructor(text: string) {
    super(instantOf(text))
    this.text = text
  }

  /** What a Date says, cut from the text: a page of a list has hundreds, and reckoning each from its milliseconds costs ten times as much. */
  override toISOString(): string {
    const { text } = this
    if (!isPlain(text)) return super.toISOString()
    const fraction = text.length > 22 ? `${text.slice(20, -3)}00`.slice(0, 3) : '000'
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`
  }
}

/** The most exact text there is of a point in time, for a cursor or a parameter. */
export const exactText = (at: Date): string => (at instanceof Timestamp ? at.text : at.toISOString())
