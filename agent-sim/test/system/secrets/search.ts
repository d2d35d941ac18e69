import type { Canaries } from './canaries.ts'
import type { KindName } from '../../../../control-plane/test/contract/secrets/kinds.ts'
import { spellings } from './spellings.ts'

/** A piece of what the product leaves behind: a row, a key, a log. */
export interface Piece {
  /** such as `log of the worker`, `svc.users` */
  where: string
  bytes: Buffer
}

/** Where something was found, and as what; never the thing itself. */
export interface Finding {
  kind: KindName
  what: string
  form: string
  where: string
}

/** Three characters that a piece begins with, as a number of 21 bits: most places of a text are passed over by it. */
const mask = 0x7f
const firstThree = (bytes: Uint8Array, at: number) =>
  ((bytes[at] ?? 0) & mask) | (((bytes[at + 1] ?? 0) & mask) << 7) | (((bytes[at + 2] ?? 0) & mask) << 14)

type Found = Omit<Finding, 'where'>

/** Looks for every secret, in every spelling, and for each part of it that is long enough. */
export class Search {
  readonly #begins = new Uint8Array(1 << 21)
  /** by length: what a text of that length gives away */
  readonly #pieces = new Map<number, Map<string, Found>>()
  readonly #codes = new Map<string, Found>()

  constructor({ all, digits }: Pick<Canaries, 'all' | 'digits'>) {
    for (const { kind, what, secret } of all)
      for (const { form, text, piece } of spellings(secret)) this.#add(text, piece, { kind, what, form })
    for (const { kind, code } of digits) {
      this.#codes.set(code, { kind, what: 'six digits', form: 'clear' })
      for (const form of ['hex', 'base64'] as const) {
        const text = Buffer.from(code).toString(form)
        this.#add(text, text.length, { kind, what: 'six digits', form })
      }
    }
  }

  #add(text: string, length: number, found: Found): void {
    const known = this.#pieces.get(length) ?? new Map<string, Found>()
    this.#pieces.set(length, known)
    for (let at = 0; at + length <= text.length; at++) {
      const piece = text.slice(at, at + length)
      // Many spellings leave a text as it is: the first one names it.
      if (!known.has(piece)) known.set(piece, found)
      this.#begins[firstThree(Buffer.from(piece, 'latin1'), 0)] = 1
    }
  }

  /** What is in these pieces, each finding once per piece. */
  in(pieces: readonly Piece[]): Finding[] {
    const findings = new Map<string, Finding>()
    for (const { where, bytes } of pieces)
      for (const found of this.#foundIn(bytes))
        findings.set(JSON.stringify([found, where]), { ...found, where })
    return [...findings.values()]
  }

  *#foundIn(bytes: Buffer): Generator<Found> {
    const lengths = [...this.#pieces.keys()]
    for (let at = 0; at < bytes.length; at++) {
      if (!this.#begins[firstThree(bytes, at)]) continue
      for (const length of lengths) {
        const found = this.#pieces.get(length)?.get(bytes.toString('latin1', at, at + length))
        if (found) yield found
      }
    }
    yield* this.#codesIn(bytes)
  }

  /** Six digits alone prove nothing: they count where nothing that belongs to a number or a time stands beside them. */
  *#codesIn(bytes: Buffer): Generator<Found> {
    if (this.#codes.size === 0) return
    for (const [digits] of bytes.toString('latin1').matchAll(/(?<![\w.:+-])\d{6}(?![\w.:-])/g)) {
      const found = this.#codes.get(digits)
      if (found) yield found
    }
  }
}
