import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { encodeBody, withSeq } from '@svc/proto'
import { WebSocketServer } from 'ws'
import { serveCalls } from '../wire/serve.ts'

/**
 * The peer of our WebSocket: the `ws` package with compression off. It answers as an agent expects and keeps nothing about anybody:
 * no session, no tenant, no timer, so what it needs is what the library needs.
 */
const answers = {
  welcome: withSeq(1, encodeBody({ welcome: { protocol: 1, epoch: 1, heartbeatIntervalMs: 60_000 } })),
  heartbeatAck: withSeq(
    2,
    encodeBody({ heartbeatAck: { serverTimeMs: Date.now(), nextIntervalMs: 60_000 } }),
  ),
}

serveCalls({
  listen: ({ certFile, keyFile }: { certFile?: string; keyFile?: string }) =>
    new Promise<number>((resolve, reject) => {
      const server =
        certFile && keyFile
          ? createSecureServer({
              cert: readFileSync(certFile),
              key: readFileSync(keyFile),
              minVersion: 'TLSv1.3',
            })
          : createServer()
      const sockets = new WebSocketServer({ server, path: '/agent', perMessageDeflate: false })
      sockets.on('connection', (socket) => {
        socket.once('message', () => {
          socket.send(answers.welcome)
          socket.on('message', () => socket.send(answers.heartbeatAck))
        })
        // A client that is gone is noticed by `close`.
        socket.on('error', () => undefined)
      })
      server.once('error', reject)
      server.listen(0, '127.0.0.1', 4096, () => resolve((server.address() as AddressInfo).port))
    }),
})
