import { setTimeout as sleep } from 'node:timers/promises'

export interface Answer<T> {
  status: number
  body: T
}

/** What is checked of a command as the API shows it. */
export interface CommandView {
  id: string
  deviceId: string
  status: string
  exitCode: number | null
  error: string | null
  result: unknown
  stdout: { text: string; size: number; base64?: string; truncated: boolean } | null
  stderr: { text: string; size: number } | null
}

export interface ErrorBody {
  error: { code: string; message: string; details: Record<string, unknown>[] }
  /** seconds; where it may be tried again */
  retryAfter?: number
}

/** What a server without room says, and one where somebody holds a lock for longer than it waits: a busy machine brings both about. */
const passing = ['asked for more than it can do at once', 'another request is changing the same thing']

/** Turned away before anything happened; whoever comes again when it is told to is served. Undefined: answered. Milliseconds. */
function comeAgainMs({ status, body }: Answer<unknown>): number | undefined {
  const { error, retryAfter } = (body ?? {}) as Partial<ErrorBody>
  const isPassing = status === 503 && passing.some((words) => error?.message.includes(words))
  return isPassing ? 1_000 * (retryAfter ?? 1) : undefined
}
const patienceMs = 60_000

const unfinished = ['queued', 'delivered', 'running']

/** The REST API as one caller sees it, without any client of the product's. */
export class Api {
  readonly #base: string
  readonly #token: string | undefined

  constructor(url: string, token?: string) {
    this.#base = `${url}/api/v1`
    this.#token = token
  }

  async ask<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(this.#base + path, {
      method,
      headers: {
        ...(this.#token ? { authorization: `Bearer ${this.#token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(45_000),
    })
    const text = await response.text()
    // What a proxy says in its own name is no JSON.
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, body: (text && isJson ? JSON.parse(text) : undefined) as T }
  }

  /** The same caller at another control plane. */
  at(url: string): Api {
    return new Api(url, this.#token)
  }

  /** As {@link ask}; asked again where what was in the way passes. */
  async settled<T>(...request: Parameters<Api['ask']>): Promise<Answer<T>> {
    for (const patience = performance.now() + patienceMs; ; ) {
      const answer = await this.ask<T>(...request)
      const pauseMs = comeAgainMs(answer)
      if (pauseMs === undefined || performance.now() > patience) return answer
      await sleep(pauseMs)
    }
  }

  /** As {@link settled}, with the one status that is right. */
  async want<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.settled<T>(method, path, body)
    if (answer.status === status) return answer.body
    throw new Error(
      `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`,
    )
  }

  /** Sends a command; resolves with its id once it is committed. */
  async send(deviceId: string, type: string, payload: unknown = {}, more: object = {}): Promise<string> {
    const path = `/devices/${deviceId}/commands`
    const { id } = await this.want<{ id: string }>(201, 'POST', path, { type, payload, ...more })
    return id
  }

  command(deviceId: string, id: string, waitMs = 0): Promise<CommandView> {
    return this.want(200, 'GET', `/devices/${deviceId}/commands/${id}?waitMs=${waitMs}`)
  }

  /** The command once it has ended. */
  async ended(deviceId: string, id: string, withinMs = 60_000): Promise<CommandView> {
    for (const patience = performance.now() + withinMs; ; ) {
      const view = await this.command(deviceId, id, 20_000)
      if (!unfinished.includes(view.status)) return view
      if (performance.now() > patience) throw new Error(`command ${id} is still ${view.status}`)
    }
  }
}
