import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'

/** Listens on loopback, on a port that the system picks. */
export async function listening(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}

/** The same URL, by way of that server. */
export function byWayOf(server: Server, to: URL): string {
  const url = new URL(to)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return url.href
}

/** Hands on what came, and reads no more until it is taken. */
export function pass(chunk: Buffer, from: Socket, to: Socket): void {
  if (to.destroyed || to.write(chunk)) return
  from.pause()
  to.once('drain', () => from.resume())
}
