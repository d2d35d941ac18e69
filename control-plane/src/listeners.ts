import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** A port or address that cannot be listened on. The message is one line that names it and the variable. */
export class ListenError extends Error {
  override name = 'ListenError'
}

function refusal(error: unknown, at: Address): Error {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    const variable = at.variable.replace(/PORT$/, 'HOST')
    return new ListenError(`${at.host} is no address of this machine: set ${variable} to one`, {
      cause: error,
    })
  }
  const why = code === 'EADDRINUSE' ? 'is in use' : code === 'EACCES' ? 'needs a privilege' : undefined
  if (!why) return error as Error
  return new ListenError(`port ${at.port} on ${at.host} ${why}: set ${at.variable} to another`, {
    cause: error,
  })
}

export interface Address {
  host: string
  port: number
  /** the variable that changes the port */
  variable: string
}

const urlOf = (host: string, port: number) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** @returns the URL that was really taken, port 0 resolved. @throws ListenError */
export async function listenApp(app: FastifyInstance, at: Address): Promise<string> {
  try {
    await app.listen({ host: at.host, port: at.port })
  } catch (error) {
    throw refusal(error, at)
  }
  return urlOf(at.host, (app.server.address() as AddressInfo).port)
}

/** Prometheus text at `/metrics`. Loopback unless configured: it says how much there is of everything. */
export function metricsServer(registry: Registry): Server {
  return createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
}

export function listenServer(server: Server, at: Address): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(refusal(error, at)))
    server.listen({ host: at.host, port: at.port }, () =>
      resolve(urlOf(at.host, (server.address() as AddressInfo).port)),
    )
  })
}

/** Until it no longer accepts, somebody may come after a cut. */
const cutEveryMs = 100

/** Stops accepting, lets what runs finish within `ms`, then cuts the rest. */
export async function drainApp(app: FastifyInstance, ms: number): Promise<void> {
  const cut = () => {
    app.server.closeAllConnections()
    next = setTimeout(cut, cutEveryMs)
  }
  let next = setTimeout(cut, ms)
  await app.close().finally(() => clearTimeout(next))
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
