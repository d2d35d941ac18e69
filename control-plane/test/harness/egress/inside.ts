import { once } from 'node:events'
import { createServer as createHttp, type RequestListener, type Server as HttpServer } from 'node:http'
import { type AddressInfo, BlockList, createServer, type Server, type Socket } from 'node:net'
import { afterAll } from 'vitest'
import { freePort } from '../../../../tools/services.ts'

/** Stands for the Internet in these tests: of loopback, and allowed, while all else of loopback is the inside. */
export const outside = '127.0.0.2'

/** For a test that needs an address of the outside where nobody listens: on {@link outside} another file may, on whichever port. */
export const deserted = '127.0.0.3'

/** {@link outside} alone, and what else a test takes for it. */
export function outsideOnly(...more: string[]): BlockList {
  const list = new BlockList()
  for (const address of [outside, ...more]) list.addAddress(address, 'ipv4')
  return list
}

async function listen(server: Server | HttpServer, host: string, port = 0): Promise<number> {
  server.listen({ host, port, ...(host === '::1' && { ipv6Only: true }) })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** What must never be reached: answers 200 on 127.0.0.1 and ::1, on one port, and counts every connection. */
export async function openCanary() {
  const reached = { connections: 0 }
  const sockets = new Set<Socket>()
  const servers = [
    createHttp((_request, response) => response.end('canary')),
    createHttp((_request, response) => response.end('canary')),
  ]
  for (const server of servers) {
    server.on('connection', (socket) => {
      reached.connections++
      sockets.add(socket)
    })
  }
  // Of those that no system gives to whoever asks for any: it must be free on several addresses.
  const port = await listen(servers[0] as HttpServer, '127.0.0.1', await freePort())
  await listen(servers[1] as HttpServer, '::1', port)
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })
  return {
    port,
    /** how often it was reached since it was asked last */
    reached: () => {
      const { connections } = reached
      reached.connections = 0
      return connections
    },
  }
}

/** A server of the outside that speaks HTTP. */
export async function openServer(answer: RequestListener, port = 0) {
  const server = createHttp(answer)
  const seen = { connections: 0 }
  server.on('connection', () => seen.connections++)
  const bound = await listen(server, outside, port)
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: bound, url: `http://${outside}:${bound}`, seen }
}

/** A server of the outside that says what it likes, byte by byte. */
export async function openRaw(talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    talk(socket)
    // What is not read hides that the other side has gone.
    socket.resume()
  })
  const port = await listen(server, outside)
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port,
    url: `http://${outside}:${port}`,
    open: () => [...sockets].filter(({ destroyed }) => !destroyed).length,
    /** connections so far */
    seen: () => sockets.size,
  }
}
