/** One mail, ready to be sent. */
export interface Message {
  /** the same at each attempt, so that a second delivery can be told for what it is */
  id: string
  to: { name: string; address: string }
  subject: string
  text: string
  html: string
  /** what its reader is to open; null: nothing */
  link: string | null
}

/** Sends mail. Slow: never within a transaction. */
export interface Mailer {
  /**
   * Resolves when a server has taken it.
   *
   * @throws MailRefused when no further attempt would help; anything else may pass
   */
  send(message: Message): Promise<void>
  /** Idempotent. */
  close(): void
}

/** The mail server says that it will never take this mail. */
export class MailRefused extends Error {
  override name = 'MailRefused'
}
