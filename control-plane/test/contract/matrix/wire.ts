import { Agent, request as open } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll } from 'vitest'

/** A request as its bytes are: nothing is normalised on the way out. */
export interface WireRequest {
  method: string
  /** what stands in the request line */
  target: string
  headers: Record<string, string>
  payload?: object
}

export interface WireReply {
  status: number
  text: string
}

/** Speaks to an app over a real socket on loopback. Call at the top level of a test file. */
export async function wireTo(app: FastifyInstance) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  afterAll(() => agent.destroy())
  return ({ method, target, headers, payload }: WireRequest): Promise<WireReply> =>
    new Promise((resolve, reject) => {
      const body = payload === undefined ? undefined : JSON.stringify(payload)
      const content = body !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      }
      const options = {
        host: '127.0.0.1',
        port,
        agent,
        method,
        path: target,
        headers: { ...headers, ...content },
      }
      const request = open(options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text })).on('error', reject)
      })
      request.on('error', reject).end(body)
    })
}

export type Wire = Awaited<ReturnType<typeof wireTo>>
