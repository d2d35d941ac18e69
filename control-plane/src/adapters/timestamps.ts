/** As a session in UTC writes a time of years 1 to 9999: `2026-11-28 09:30:00.123456+00`, with as much of a fraction as there is. */
const isPlain = (text: string) =>
  text.length >= 22 && text.length <= 29 && text.charCodeAt(10) === 32 && text.endsWith('+00')

/**
 * A timestamp as Postgres wrote it. A Date holds milliseconds, Postgres microseconds: a list continued from a rounded timestamp
 * would skip or repeat rows, so the text is kept beside it. Not to be changed: it is what the text says.
 */
export class Timestamp extends Date {
  readonly text: string

  constructor(text: string) {
    super(text)
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
