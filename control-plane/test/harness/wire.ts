import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire to Postgres that counts how often its client waits for an answer, and can be made to say nothing any more. */
export interface CountingWire {
  url: string
  /** bursts of statements so far, each sent before the answer to any of it */
  trips: () => number
  /** of clients, ever */
  connections: () => number
  /** From now on connections stay, and nothing comes through in either direction. */
  hush(): void
  close(): void
}

/** What is said within this time is said without having heard the answer to any of it: it is held back as long. */
const heldMs = 20

function hold(client: Socket, say: (bytes: Buffer) => void, counted: () => void): void {
  let held: Buffer[] = []
  const pass = () => {
    counted()
    say(Buffer.concat(held))
    held = []
  }
  client.on('data', (chunk: Buffer) => {
    if (held.length === 0) setTimeout(pass, heldMs)
    held.push(chunk)
  })
}

/** A proxy before that database, and the sockets that are open on both of its sides. */
export interface OpenWire {
  /** of the database, through it */
  url: string
  open: ReadonlySet<Socket>
  close(): void
}

/** @param url of the database behind it @param join told of both ends of each connection, and carries between them */
export async function openWire(
  url: string,
  join: (client: Socket, server: Socket) => void,
): Promise<OpenWire> {
  const { hostname, port } = new URL(url)
  const open = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) {
      open.add(socket)
      socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket))
    }
    join(client, server)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const through = new URL(url)
  through.port = String((proxy.address() as AddressInfo).port)
  return {
    url: through.href,
    open,
    close: () => {
      proxy.close()
      for (const socket of open) socket.destroy()
    },
  }
}

/** @param url of the database behind it */
export async function countingWire(url: string): Promise<CountingWire> {
  let [trips, connections, hushed] = [0, 0, false]
  const unlessHushed = (to: Socket) => (bytes: Buffer) => {
    if (!hushed) to.write(bytes)
  }
  const wire = await openWire(url, (client, server) => {
    connections++
    hold(client, unlessHushed(server), () => trips++)
    server.on('data', unlessHushed(client)).on('close', () => {
      if (!hushed) client.destroy()
    })
    client.on('close', () => server.destroy())
  })
  return {
    url: wire.url,
    trips: () => trips,
    connections: () => connections,
    hush: () => {
      hushed = true
    },
    close: () => wire.close(),
  }
}
