/** Sends text messages. Slow: never within a transaction. */
export interface Sms {
  /**
   * Resolves when the provider has taken it.
   *
   * @param to E.164
   * @throws SmsFailed
   */
  send(to: string, text: string): Promise<void>
}

/** The provider did not take it. The message is for the operator's log: it may say what the provider said. */
export class SmsFailed extends Error {
  override name = 'SmsFailed'
}
