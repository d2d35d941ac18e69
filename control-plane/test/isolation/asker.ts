import { Agent, request, type RequestOptions } from 'node:http'
import type { Reader } from './readers.ts'

/** An answer as it came over the wire. Status 0: none came. */
export interface Heard {
  status: number
  text: string
}

export interface Question {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** below `/api/v1` */
  path: string
  body?: unknown
}

/** Asks over real connections, in the name of whichever reader. */
export class Asker {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  readonly #base: string

  constructor(base: string) {
    this.#base = base
  }

  /** The answer, whatever it is. */
  ask(reader: Reader, question: Question): Promise<Heard> {
    return new Promise((resolve) => {
      const asked = this.#open(reader, question, { agent: this.#agent })
      asked.on('error', () => resolve({ status: 0, text: '' }))
      asked.on('response', (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', () => resolve({ status: 0, text: '' }))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
        )
      })
    })
  }

  /** Sends the question on a connection of its own, and destroys that after so many ms. What came until then does not matter. */
  cut(reader: Reader, question: Question, afterMs: number): Promise<Heard> {
    return new Promise((resolve) => {
      const asked = this.#open(reader, question, { agent: false })
      asked.on('error', () => undefined)
      asked.on('response', (response) => response.on('error', () => undefined).resume())
      asked.on('close', () => resolve({ status: 0, text: '' }))
      asked.on('finish', () => setTimeout(() => asked.destroy(), afterMs))
    })
  }

  close(): void {
    this.#agent.destroy()
  }

  #open({ authorization }: Reader, { method, path, body }: Question, options: RequestOptions) {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const asked = request(`${this.#base}/api/v1${path}`, {
      ...options,
      method,
      headers: {
        authorization,
        ...(text !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        }),
      },
    })
    asked.end(text)
    return asked
  }
}
