import { Agent, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { svc } from '@svc/proto'

/** The control plane did not answer, or did not take what was carried to it. */
export class ExchangeDown extends Error {
  override name = 'ExchangeDown'
}

const maxAnswerBytes = 64 * 1024 * 1024

/** One question and its answer at a time, and beside it one load that is carried up: neither waits for the other. */
const connections = 2

/** The wire under the exchange: `POST /internal/edge/exchange`, protobuf both ways, over connections that are kept. */
export class ExchangeCall {
  readonly #url: string
  readonly #key: string
  readonly #agent: Agent

  /** @param key shared with the control plane (`EDGE_SHARED_KEY`) */
  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
    const options = { keepAlive: true, maxSockets: connections }
    this.#agent = url.startsWith('https:') ? new TlsAgent(options) : new Agent(options)
  }

  /** Rejects unless the answer is a complete 200 within the time given. */
  async ask(asked: svc.v1.IExchangeRequest, withinMs: number): Promise<svc.v1.ExchangeAnswer> {
    const body = svc.v1.ExchangeRequest.encode(asked).finish()
    return svc.v1.ExchangeAnswer.decode(await this.#post(body, AbortSignal.timeout(withinMs)))
  }

  /** Ends what is under way, too. */
  close(): void {
    this.#agent.destroy()
  }

  #post(body: Uint8Array, signal: AbortSignal): Promise<Buffer> {
    const headers = {
      authorization: `Bearer ${this.#key}`,
      'content-type': 'application/x-protobuf',
      'content-length': body.length,
    }
    const send = this.#url.startsWith('https:') ? tlsRequest : request
    return new Promise((resolve, reject) => {
      const outgoing = send(this.#url, { method: 'POST', agent: this.#agent, headers, signal }, (answer) => {
        const chunks: Buffer[] = []
        let bytes = 0
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > maxAnswerBytes) return outgoing.destroy(new Error('the answer is too large'))
          chunks.push(chunk)
        })
        answer.on('error', reject)
        answer.on('end', () => {
          if (answer.statusCode === 200) return resolve(Buffer.concat(chunks))
          const hint = answer.statusCode === 401 ? ': EDGE_SHARED_KEY is not the control plane’s' : ''
          reject(new Error(`${this.#url} answered ${answer.statusCode}${hint}`))
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
}
