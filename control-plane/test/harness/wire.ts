import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire to Postgres that counts how often its client waits for an answer. */
export interface CountingWire {
  url: string
  /** bursts of statements so far, each sent before the answer to any of it */
  trips: () => number
  close(): void
}

/** What is said within this time is said without having heard the answer to any of it: it is held back as long. */
const heldMs = 20

function hold(client: Socket, server: Socket, counted: () => void): void {
  let held: Buffer[] = []
  const pass = () => {
    counted()
    server.write(Buffer.concat(held))
    held = []
  }
  client.on('data', (chunk: Buffer) => {
    if (held.length === 0) setTimeout(pass, heldMs)
    held.push(chunk)
  })
}

/** @param url of the database behind it */
export async function countingWire(url: string): Promise<CountingWire> {
  const { hostname, port } = new URL(url)
  let trips = 0
  const open = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) open.add(socket.on('error', () => socket.destroy()))
    hold(client, server, () => trips++)
    server.pipe(client)
    client.on('close', () => server.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const through = new URL(url)
  through.port = String((proxy.address() as AddressInfo).port)
  return {
    url: through.href,
    trips: () => trips,
    close: () => {
      proxy.close()
      for (const socket of open) socket.destroy()
    },
  }
}
