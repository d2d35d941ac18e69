import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { ServiceFailure } from './child.ts'

/**
 * Below what systems give to outgoing connections and to whoever asks for any port (Linux from 32,768, others from 49,152). Each
 * process draws from blocks of its own, which it holds by listening on their first port for as long as it lives: what one process
 * was given stays free until it is used, however many start their programs at once.
 */
const lowest = 20_000
const size = 32
const blocks = 399

const rest: number[] = []
const held: Server[] = []

/** A loopback port that nobody uses now, given once alone. A stranger may take it before it is used: see `onFreePort`. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = rest.pop()
    if (port === undefined) await claim()
    else if (await isFree(port)) return port
  }
}

async function claim(): Promise<void> {
  const start = randomInt(blocks)
  for (let i = 0; i < blocks; i++) {
    const first = lowest + ((start + i) % blocks) * size
    const server = await listen(first)
    if (!server) continue
    held.push(server.unref())
    rest.push(...Array.from({ length: size - 1 }, (_, port) => first + size - 1 - port))
    return
  }
  throw new Error(`all ${blocks} blocks of ports from ${lowest} are held`)
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port)
  if (server) await new Promise((resolve) => server.close(resolve))
  return server !== undefined
}

const listen = (port: number) =>
  new Promise<Server | undefined>((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server))
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
