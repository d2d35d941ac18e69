/**
 * A timestamp as Postgres wrote it. A Date holds milliseconds, Postgres microseconds: a list continued from a rounded timestamp
 * would skip or repeat rows, so the text is kept beside it.
 */
export class Timestamp extends Date {
  readonly text: string

  constructor(text: string) {
    super(text)
    this.text = text
  }
}

/** The most exact text there is of a point in time, for a cursor or a parameter. */
export const exactText = (at: Date): string => (at instanceof Timestamp ? at.text : at.toISOString())
