import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Answer {
  status: number
  /** cookies that it sets, by name */
  cookies: Record<string, string>
  json: Record<string, unknown> & { data?: Record<string, unknown>[] }
}

export interface Asking {
  /** goes as JSON; a text goes as it is */
  body?: unknown
  /** as they are written: the wire keeps their case */
  headers?: Record<string, string>
}

/** Whoever asks the product over HTTP, by any of its ports, and keeps what was refused. */
export class Client {
  readonly #base: string
  /** whole answers that were refusals, with what was asked for */
  readonly refusals: { asked: string; answer: string }[] = []

  constructor(base: string) {
    this.#base = base
  }

  /** @param path below the base */
  async ask(method: string, path: string, { body, headers = {} }: Asking = {}): Promise<Answer> {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const all = { ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers }
    const { status, rawHeaders, said } = await new Promise<{
      status: number
      rawHeaders: string[]
      said: string
    }>((resolve, reject) => {
      const asking = request(this.#base + path, { method, headers: all }, (response) => {
        const { statusCode: status = 0, rawHeaders } = response
        text(response).then((said) => resolve({ status, rawHeaders, said }), reject)
      })
      asking.once('error', reject).end(sent)
    })
    if (status >= 400)
      this.refusals.push({ asked: `${method} ${status}`, answer: [...rawHeaders, said].join('\n') })
    const isJson = rawHeaders.some((header) => header.startsWith('application/json'))
    return {
      status,
      cookies: cookiesIn(rawHeaders),
      json: isJson && said ? (JSON.parse(said) as Answer['json']) : {},
    }
  }

  /** As {@link ask}, with the one status that is right. */
  async want(status: number, method: string, path: string, asking: Asking = {}): Promise<Answer> {
    const answer = await this.ask(method, path, asking)
    if (answer.status === status) return answer
    throw new Error(
      `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.json)}`,
    )
  }
}

function cookiesIn(rawHeaders: readonly string[]): Record<string, string> {
  const set = rawHeaders.filter((_, at) => at % 2 === 1 && /^set-cookie$/i.test(rawHeaders[at - 1] ?? ''))
  return Object.fromEntries(
    set.map((cookie) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      return [name, decodeURIComponent(value)]
    }),
  )
}

/** Sends bytes that are no HTTP to a port; what comes back until it closes. */
export const talkNonsense = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setTimeout(2_000, () => socket.destroy())
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(said))
  })
