import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { ServiceFailure } from './child.ts'

/**
 * Below what systems give to outgoing connections and to whoever asks for any port (Linux from 32,768, others from 49,152): a port
 * from here stays free until it is used, but for the rare other who draws the same.
 */
const [lowest, highest] = [20_000, 32_767]
const draws = 50

/** A loopback port that nobody uses now. It may be taken before it is used: see `onFreePort`. */
export async function freePort(): Promise<number> {
  for (let drawn = 1; drawn <= draws; drawn++) {
    const port = randomInt(lowest, highest + 1)
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${draws} ports between ${lowest} and ${highest} is free`)
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    )
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

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
