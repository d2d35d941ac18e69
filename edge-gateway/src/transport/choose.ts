import type { SocketOptions, Transport } from './link.ts'
import { loadEngine, UwsTransport } from './uws.ts'
import { WsTransport } from './ws.ts'

/**
 * uWebSockets.js where its binary runs; else `ws`, which needs several times the memory for each connection.
 *
 * @param withoutEngine told why, when the binary does not run here
 */
export async function chooseTransport(
  options: SocketOptions,
  withoutEngine: (reason: string) => void,
): Promise<Transport> {
  try {
    return new UwsTransport(await loadEngine(), options)
  } catch (error) {
    withoutEngine((error as Error).message)
    return new WsTransport(options)
  }
}
