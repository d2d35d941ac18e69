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

/**
 * The wire under the exchange: `POST /internal/edge/exchange`, protobuf both ways, over connections that are kept. Of several control
 * planes one is asked as long as it answers; then the next.
 */
export class ExchangeCall {
  readonly #urls: readonly string[]
  readonly #key: string
  readonly #plain = new Agent({ keepAlive: true, maxSockets: connections })
  readonly #secure = new TlsAgent({ keepAlive: true, maxSockets: connections })
  /** of the one that is asked; grows without end */
  #at = 0

  /**
   * @param urls of control planes that share a database, at least one
   * @param key shared with the control plane (`EDGE_SHARED_KEY`)
   */
  constructor(urls: readonly string[], key: string) {
    this.#urls = urls
    this.#key = key
  }

  /**
   * Rejects unless the answer of one of them is a complete 200 within the time given. One that fails without taking that time is
   * passed over at once, one that takes it, by the next call.
   */
  async ask(asked: svc.v1.IExchangeRequest, withinMs: number): Promise<svc.v1.ExchangeAnswer> {
    const body = svc.v1.ExchangeRequest.encode(asked).finish()
    const signal = AbortSignal.timeout(withinMs)
    for (let left = this.#urls.length; ; left--) {
      const at = this.#at
      try {
        const url = this.#urls[at % this.#urls.length] ?? ''
        return svc.v1.ExchangeAnswer.decode(await this.#post(url, body, signal))
      } catch (error) {
        // Another call may have moved on already.
        if (this.#at === at) this.#at++
        if (left <= 1 || signal.aborted) throw error
      }
    }
  }

  /** Ends what is under way, too. */
  close(): void {
    this.#plain.destroy()
    this.#secure.destroy()
  }

  #post(url: string, body: Uint8Array, signal: AbortSignal): Promise<Buffer> {
    const isSecure = url.startsWith('https:')
    const headers = {
      authorization: `Bearer ${this.#key}`,
      'content-type': 'application/x-protobuf',
      'content-length': body.length,
    }
    const send = isSecure ? tlsRequest : request
    const agent = isSecure ? this.#secure : this.#plain
    return new Promise((resolve, reject) => {
      const outgoing = send(url, { method: 'POST', agent, headers, signal }, (answer) => {
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
          reject(new Error(`${url} answered ${answer.statusCode}${hint}`))
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
}
