import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server for one file, that answers as a test says. */
export class FileHost {
  readonly #server = createServer((_request, response) => {
    this.asked += 1
    response.on('error', () => undefined)
    this.serve(response)
  })
  asked = 0
  serve: (response: ServerResponse) => void = (response) => void response.writeHead(404).end()

  static async open(): Promise<FileHost> {
    const host = new FileHost()
    host.#server.listen(0, '127.0.0.1')
    await once(host.#server, 'listening')
    return host
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/agent`
  }

  /** Sends these bytes. */
  whole(bytes: Uint8Array): void {
    this.serve = (response) => void response.end(bytes)
  }

  /** Sends half and then nothing more. */
  stalls(bytes: Uint8Array): void {
    this.serve = (response) => {
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(bytes.subarray(0, bytes.length >> 1))
    }
  }

  /** Promises all and breaks off. */
  truncates(bytes: Uint8Array): void {
    this.serve = (response) => {
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
    }
  }

  /** Sends without an end, as fast as it is read. */
  endless(): void {
    this.serve = (response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) continue
      }
      response.on('drain', more)
      more()
    }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
