import { setMaxListeners } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { WrongAnswer } from '../load/saturate.ts'
import type { LoginBody } from './people.ts'

/** What became of all that the crowd asked. */
export interface Answered {
  right: number
  wrong: number
  toldToComeAgain: number
  /** ms of each login that was decided, from when it was sent */
  took: number[]
}

/** Who logs in: with a right password, or as somebody who does not exist. */
export interface Member {
  body: LoginBody
  status: 200 | 401
}

interface Heard {
  status: number
  retryAfterMs: number
}

/**
 * People at once, each from an address of their own, which the server is told as by its proxy. Whoever is told to come again does so when they
 * may; whoever was answered begins anew. @throws WrongAnswer for an answer that is none of these
 */
export class Crowd {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2_000 })
  readonly #apiUrl: string
  readonly #members: readonly Member[]
  #tries = 0

  constructor(apiUrl: string, members: readonly Member[]) {
    this.#apiUrl = apiUrl
    this.#members = members
  }

  /** Until told that it is over; then what is under way is still answered. */
  async logIn(over: AbortSignal): Promise<Answered> {
    setMaxListeners(this.#members.length, over) // each of them may be waiting
    const answered: Answered = { right: 0, wrong: 0, toldToComeAgain: 0, took: [] }
    const one = async ({ body, status }: Member) => {
      while (!over.aborted) {
        const began = performance.now()
        const heard = await this.#ask(status === 200 ? body : { ...body, email: this.#nobody() })
        if (heard.status === 503 && heard.retryAfterMs > 0) {
          answered.toldToComeAgain++
          await sleep(heard.retryAfterMs, undefined, { signal: over }).catch(() => undefined)
          continue
        }
        if (heard.status !== status) throw new WrongAnswer(`a login: ${heard.status} instead of ${status}`)
        answered.took.push(performance.now() - began)
        answered[status === 200 ? 'right' : 'wrong']++
      }
    }
    await Promise.all(this.#members.map(one))
    return answered
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Nobody is asked for so often that their limit would answer. */
  #nobody = () => `nobody-${this.#tries}@bench.example`

  #ask(body: LoginBody): Promise<Heard> {
    const n = this.#tries++
    const text = JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const asked = request(`${this.#apiUrl}/api/v1/auth/login`, {
        method: 'POST',
        agent: this.#agent,
        timeout: 60_000,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          'x-forwarded-for': `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
        },
      })
      asked.on('timeout', () => asked.destroy(new WrongAnswer('a login: no answer within a minute')))
      asked.on('error', reject)
      asked.on('response', (response) => {
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            retryAfterMs: Number(response.headers['retry-after'] ?? 0) * 1_000,
          }),
        )
        response.resume()
      })
      asked.end(text)
    })
  }
}
