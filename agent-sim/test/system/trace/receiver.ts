import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as OTLP/HTTP sends it in JSON, with the service that it is of. */
export interface SeenSpan {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

interface Export {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] }
    scopeSpans: { spans: Omit<SeenSpan, 'service'>[] }[]
  }[]
}

export interface Receiver {
  url: string
  spans: SeenSpan[]
  /** how often it was asked */
  requests: number
  /** from now on it takes everything and answers nothing */
  hang(): void
  close(): Promise<void>
}

async function bodyOf(request: IncomingMessage): Promise<Export> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Export
}

const spansIn = ({ resourceSpans }: Export): SeenSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, service })))
  })

/** What spans are exported to, as collectors receive them: `POST /v1/traces`. */
export async function startReceiver(): Promise<Receiver> {
  let hangs = false
  const receiver = { spans: [] as SeenSpan[], requests: 0 }
  const server = createServer((request, response) => {
    receiver.requests++
    if (hangs) return
    if (request.method !== 'POST' || request.url !== '/v1/traces') return response.writeHead(404).end()
    bodyOf(request).then(
      (body) => {
        receiver.spans.push(...spansIn(body))
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      },
      () => response.writeHead(400).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hang: () => {
      hangs = true
    },
    close: () => {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  })
}
