/** An answer that is not the expected one. */
export class Unexpected extends Error {}

/** Longer than the longest `waitMs`. */
const answerWithinMs = 60_000

/** The REST API as one caller sees it. */
export class Api {
  readonly #base: string
  readonly #token: string

  constructor(base: string, token: string) {
    this.#base = `${base}/api/v1`
    this.#token = token
  }

  /** Sends a command; resolves with its id once it is committed. */
  async send(deviceId: string, type: string, payload: unknown): Promise<string> {
    const { id } = await this.#ask<{ id: string }>(201, 'POST', `/devices/${deviceId}/commands`, {
      type,
      payload,
    })
    return id
  }

  /** The status of a command, after waiting up to `waitMs` for its end. */
  async status(deviceId: string, commandId: string, waitMs: number): Promise<string> {
    const path = `/devices/${deviceId}/commands/${commandId}?waitMs=${waitMs}`
    const { status } = await this.#ask<{ status: string }>(200, 'GET', path)
    return status
  }

  async #ask<T>(wanted: number, method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.#base + path, {
      signal: AbortSignal.timeout(answerWithinMs),
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.status !== wanted)
      throw new Unexpected(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
    return JSON.parse(text) as T
  }
}
