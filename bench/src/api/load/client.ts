import { Agent, request } from 'node:http'
import { WrongAnswer } from './saturate.ts'

/** A caller with connections that stay: node's own client, without a library in between. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2_000 })
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(base: string, headers: Readonly<Record<string, string>> = {}) {
    this.#base = base
    this.#headers = headers
  }

  /** The body of the answer. @throws WrongAnswer for another status than `status` */
  ask(status: number, method: string, path: string, body?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = {
        ...this.#headers,
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        }),
      }
      const asked = request(this.#base + path, { method, headers, agent: this.#agent, timeout: 45_000 })
      asked.on('timeout', () =>
        asked.destroy(new WrongAnswer(`${method} ${path}: no answer within 45 seconds`)),
      )
      asked.on('error', reject)
      asked.on('response', (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(parts).toString()
          if (response.statusCode === status) resolve(text)
          else
            reject(
              new WrongAnswer(
                `${method} ${path}: ${response.statusCode} instead of ${status}: ${text.slice(0, 300)}`,
              ),
            )
        })
      })
      asked.end(body)
    })
  }

  async json<T>(status: number, method: string, path: string, body?: string): Promise<T> {
    return JSON.parse(await this.ask(status, method, path, body)) as T
  }

  close(): void {
    this.#agent.destroy()
  }
}
