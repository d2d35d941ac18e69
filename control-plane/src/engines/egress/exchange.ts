import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { tooLargeAnswer } from './failure.ts'
import type { Outgoing } from './request.ts'

/** The head of an answer, and its body, which is not read yet. */
export type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>

/** An answer that has begun. */
export interface Begun {
  answer: Answer
  /** Ends the connection, however much was read. Idempotent. */
  end: () => void
}

export interface Limits {
  /** without the head of the answer, and without a byte of its body */
  headersMs: number
  idleMs: number
  /** ends the wait for the head */
  signal: AbortSignal
}

const mostHeadBytes = 16_384

const noSecond = () => Object.assign(new Error('there is one connection'), { code: 'ECONNRESET' })

/**
 * Sends a request over a connection that serves no second one: what was checked for one address, name and caller is never taken for
 * another's, and there is no pool that could mix them up.
 */
export async function begin(
  url: URL,
  socket: Socket,
  { method, headers, body }: Outgoing,
  { headersMs, idleMs, signal }: Limits,
): Promise<Begun> {
  const { Client } = await import('./undici.ts')
  let taken = false
  const client = new Client(url.origin, {
    connect: (_options, callback) => {
      const again = taken
      taken = true
      // Not in the same turn: the client does not expect an answer while it asks.
      queueMicrotask(() => (again ? callback(noSecond(), null) : callback(null, socket)))
    },
    maxHeaderSize: mostHeadBytes,
    headersTimeout: headersMs,
    bodyTimeout: idleMs,
  })
  const end = () => {
    socket.destroy()
    client.destroy(null, () => undefined)
  }
  try {
    const path = url.pathname + url.search
    const answer = await client.request({ path, method, headers, body, signal, reset: true })
    // What breaks the body off is told to who reads it; one that nobody reads any more must not end the process.
    answer.body.on('error', () => undefined)
    signal.throwIfAborted()
    return { answer, end }
  } catch (error) {
    end()
    throw error
  }
}

/** @throws EgressError TOO_LARGE as soon as it is */
export async function gather(body: AsyncIterable<Uint8Array>, mostBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > mostBytes) throw tooLargeAnswer()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
