import { type Message, stringsOf } from './messages.ts'

/** Follows what a client of Postgres executes on one connection. */
export class Statements {
  readonly #prepared = new Map<string, string>()
  /** since the transaction began, each with its parameters as they were sent */
  #texts: string[] = []

  /** Takes note of it; true when it is the COMMIT of a transaction, whose statements {@link texts} are. */
  isCommit(message: Message): boolean {
    const text = this.#textOf(message)
    if (text === undefined) return false
    if (/^\s*begin\b/i.test(text)) this.#texts = []
    else if (/^\s*commit\b/i.test(text)) return true
    this.#texts.push(`${text}\n${message.bytes.toString('latin1')}`)
    return false
  }

  get texts(): readonly string[] {
    return this.#texts
  }

  /** What it has executed: a Query, or the statement that a Bind takes; the Execute follows that at once. */
  #textOf(message: Message): string | undefined {
    if (message.type === 'Q') return stringsOf(message, 1)[0]
    if (message.type === 'P') {
      const [name = '', text = ''] = stringsOf(message, 2)
      this.#prepared.set(name, text)
    }
    if (message.type !== 'B') return undefined
    const [, name = ''] = stringsOf(message, 2)
    return this.#prepared.get(name)
  }
}
