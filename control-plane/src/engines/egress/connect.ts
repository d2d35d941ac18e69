import { once } from 'node:events'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { unreachable } from './failure.ts'
import type { Target } from './target.ts'
import { within } from './within.ts'

/** A host that has many addresses is not tried for ever. */
const mostTried = 4

export interface Connecting {
  connectMs: number
  ca?: string | undefined
  signal: AbortSignal
}

/**
 * A connection to the first of these addresses that takes one, TLS included: nothing is looked up any more. The host's name is for the
 * certificate and for SNI alone.
 *
 * @param addresses that were checked
 * @throws what went wrong with the last one
 */
export async function connectTo(
  { host, port, secure }: Target,
  addresses: readonly string[],
  { connectMs, ca, signal }: Connecting,
): Promise<Socket> {
  let failure: unknown = unreachable()
  for (const address of addresses.slice(0, mostTried)) {
    try {
      const open = (each: AbortSignal) =>
        secure ? tls(host, address, port, ca, each) : plain(address, port, each)
      return await within(connectMs, () => unreachable('ETIMEDOUT'), [signal], open)
    } catch (error) {
      signal.throwIfAborted()
      failure = error
    }
  }
  throw failure
}

const plain = (address: string, port: number, signal: AbortSignal) =>
  opened(connectPlain({ host: address, port }), 'connect', signal)

function tls(host: string, address: string, port: number, ca: string | undefined, signal: AbortSignal) {
  const socket = connectTls({
    host: address,
    port,
    // RFC 6066 §3: an address is no name; the certificate is checked against `host` then.
    servername: isIP(host) ? '' : host,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
  })
  return opened(socket, 'secureConnect', signal)
}

async function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<Socket> {
  // Whoever has it later listens as well; between the two an error must not end the process.
  socket.on('error', () => undefined)
  try {
    await once(socket, event, { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}
