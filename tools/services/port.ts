import { createServer } from 'node:net'
import { ServiceFailure } from './child.ts'

/** A loopback port that nobody uses now. It may be taken before it is used: see `onFreePort`. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

const portTaken = /address already in use|could not create any TCP\/IP sockets/i

/** Starts something on the wanted port or, where none is wanted, on a free one, again when that was just taken. */
export async function onFreePort<T>(
  wanted: number | undefined,
  start: (port: number) => Promise<T>,
): Promise<T> {
  if (wanted !== undefined) return start(wanted)
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort())
    } catch (error) {
      if (attempt >= 5 || !(error instanceof ServiceFailure && portTaken.test(error.message))) throw error
    }
  }
}
