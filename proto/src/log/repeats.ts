/** How often one and the same may be said within a window. */
const allowed = 50
const windowMs = 10_000
/** Different texts that are told apart; of more, those beyond share one allowance. */
const mostTexts = 1_000
const others = 'others'

interface Said {
  times: number
  leftOut: number
  /** of lines that are security events */
  event: string | undefined
}

/**
 * Keeps a storm out of the log: of lines with the same text the first of a window are written, and of the rest one line says how many
 * they were. Lines of security events that stand for themselves never come here.
 */
export class Repeats {
  readonly #said = new Map<string, Said>()
  readonly #tell: (text: string, leftOut: number, event: string | undefined) => void
  #window: NodeJS.Timeout | undefined

  /** @param tell told at the end of a window, of each text that was left out */
  constructor(tell: (text: string, leftOut: number, event: string | undefined) => void) {
    this.#tell = tell
  }

  /** Whether this one is written. */
  admits(text: string, event?: string): boolean {
    const said = this.#of(text, event)
    if (++said.times <= allowed) return true
    said.leftOut++
    return false
  }

  close(): void {
    clearTimeout(this.#window)
    this.#end()
  }

  #of(text: string, event: string | undefined): Said {
    const key = this.#said.has(text) || this.#said.size < mostTexts ? text : others
    const known = this.#said.get(key)
    if (known) return known
    const said = { times: 0, leftOut: 0, event }
    this.#said.set(key, said)
    this.#window ??= setTimeout(() => this.#end(), windowMs).unref()
    return said
  }

  #end(): void {
    this.#window = undefined
    const over = [...this.#said]
    this.#said.clear()
    for (const [text, { leftOut, event }] of over) if (leftOut > 0) this.#tell(text, leftOut, event)
  }
}
