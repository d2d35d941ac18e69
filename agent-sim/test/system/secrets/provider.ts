import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A server outside that takes text messages; and, refusing, one that says again all that it was asked. */
export interface Provider {
  url: string
  /** from now on it refuses, and quotes what it refuses */
  refuse(): void
  /** the last code that was sent to a number */
  codeFor(number: string): string | undefined
  /** what it was asked, credentials included */
  readonly asked: readonly string[]
  close(): void
}

const quote = ({ method, url, headers }: IncomingMessage, body: string) =>
  JSON.stringify({ error: 'refused', method, url, headers, body })

export async function startProvider(): Promise<Provider> {
  const asked: string[] = []
  const codes = new Map<string, string>()
  let refusing = false
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const said = quote(request, body)
      asked.push(said)
      const message = (body ? JSON.parse(body) : {}) as { to?: string; text?: string }
      const code = /\d{6}/.exec(message.text ?? '')?.[0]
      if (message.to && code) codes.set(message.to, code)
      if (refusing) response.writeHead(400, { 'content-type': 'application/json' }).end(said)
      else response.writeHead(201).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuse: () => {
      refusing = true
    },
    codeFor: (number) => codes.get(number),
    asked,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
