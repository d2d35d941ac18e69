import { type Credentials, login, refresh, type Tokens } from '../../../../tools/token/login.ts'

/** A token is good for 15 minutes; no load may outlive it. */
const renewAfterMs = 8 * 60_000

/** The administrator, who stays logged in. */
export class Caller {
  readonly #apiUrl: string
  #tokens: Tokens
  #since = performance.now()

  private constructor(apiUrl: string, tokens: Tokens) {
    this.#apiUrl = apiUrl
    this.#tokens = tokens
  }

  static async login(apiUrl: string, who: Credentials): Promise<Caller> {
    return new Caller(apiUrl, await login(apiUrl, who, () => undefined))
  }

  /** What goes with each request of the next minutes. */
  async headers(): Promise<Record<string, string>> {
    if (performance.now() - this.#since > renewAfterMs) {
      const tokens = await refresh(this.#apiUrl, this.#tokens)
      if (!tokens) throw new Error('the login has ended while it was in use')
      this.#tokens = tokens
      this.#since = performance.now()
    }
    return { authorization: `Bearer ${this.#tokens.accessToken}` }
  }
}
